"""Different answers before the same answer again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram_py.context.providers import mmr
from engram_py.text.words import jaccard, shingles


def chosen(texts: dict[str, float], *, lam: float = 0.85, limit: int | None = None) -> list[str]:
    items = [((text, shingles(text)), relevance) for text, relevance in texts.items()]
    return [text for text, _ in mmr(items, lambda one, other: jaccard(one[1], other[1]), lam=lam, limit=limit)]


def test_what_is_unlike_comes_in_order_of_relevance() -> None:
    assert chosen({"parser reads csv": 0.2, "tokens expire": 0.9, "deploys go through argo": 0.5}) == [
        "tokens expire",
        "deploys go through argo",
        "parser reads csv",
    ]


def test_the_same_thing_six_times_gives_way_to_a_different_one_however_far_behind() -> None:
    same = {f"The nightly job runs at two on the build server, run {number}": 1.0 - number / 100 for number in range(6)}

    assert chosen(same | {"Backups are kept for a week": 0.01})[1] == "Backups are kept for a week"


def test_what_is_somewhat_alike_loses_a_little() -> None:
    texts = {"token lifetime is short": 1.0, "token lifetime is long lived": 0.72, "retry with backoff": 0.70}

    assert chosen(texts)[1] == "retry with backoff"
    assert chosen(texts, lam=1.0)[1] == "token lifetime is long lived"


def test_equal_relevance_keeps_the_order_that_was_given() -> None:
    texts = ["zebra crossing", "apple pie", "mango juice", "apricot jam"]
    assert chosen(dict.fromkeys(texts, 0.5)) == texts


@given(st.lists(st.tuples(st.text(max_size=40), st.floats(-1e6, 1e6)), max_size=30), st.integers(0, 40))
def test_it_is_a_choice_of_what_was_given_and_never_more_than_asked(items: list[tuple[str, float]], limit: int) -> None:
    pairs = [((place, shingles(text)), relevance) for place, (text, relevance) in enumerate(items)]

    found = [place for place, _ in mmr(pairs, lambda one, other: jaccard(one[1], other[1]), limit=limit)]

    assert len(found) == min(limit, len(items)) == len(set(found))
    assert set(found) <= set(range(len(items)))
