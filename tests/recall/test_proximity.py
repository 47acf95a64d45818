"""Which words a text holds, and how near to each other they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.recall.proximity import PAIR_SHARE, Reading, passage, read, term_finder
from engram_py.recall.score import Term


def term(stem: str, *, idf: float = 2.0, substitutes: tuple[str, ...] = ()) -> Term:
    return Term(stem, f'"{stem}"', idf, 1, () if substitutes else (stem,), substitutes=substitutes)


def reading(text: str, *terms: Term) -> Reading:
    finder = term_finder(terms)
    assert finder is not None
    return read(text, finder, terms)


def test_a_text_holds_a_term_where_a_word_begins_with_its_stem() -> None:
    found = reading("Retried the Deployments; undeploy", term("retri"), term("deploy"), term("queue"))
    assert found.seen.keys() == {0, 1}


@pytest.mark.parametrize(
    ("stem", "text", "seen"),
    [
        # what the name of a file ends in is no word
        pytest.param("go", "moved to Go", True, id="word"),
        pytest.param("go", "see main.go", False, id="file"),
        pytest.param("go", "wait... go", True, id="after-dots"),
        pytest.param("26", "at 1.26", True, id="number"),
        pytest.param("size", "obj.size", True, id="longer"),
        # it begins where no letter is before it
        pytest.param("queue", "a requeue", False, id="inside-a-word"),
        pytest.param("queue", "my_queue", True, id="after-an-underscore"),
        pytest.param("queue", "(queue)", True, id="in-brackets"),
        pytest.param("queue", "QUEUE", True, id="capitals"),
        # it ends with its stem or with what the stemmer takes off; a stem in i stands for words in y
        pytest.param("polici", "policy", True, id="y"),
        pytest.param("polici", "Policies", True, id="y-in-plural"),
        pytest.param("polici", "the policy.", True, id="y-before-a-stop"),
        pytest.param("ad", "ads", True, id="plural"),
        pytest.param("ad", "the address", False, id="a-longer-word"),
        pytest.param("ad", "advisory", False, id="another-longer-word"),
        pytest.param("stop", "stopped", True, id="doubled-letter"),
        pytest.param("share", "shared", True, id="a-d-after-an-e"),
        pytest.param("initi", "uninitialized initialization", True, id="two-endings"),
        pytest.param("depend", "dependencies", True, id="ies"),
        pytest.param("time", "timeout", False, id="half-of-a-name"),
        pytest.param("user", "username", False, id="written-together"),
        pytest.param("mlx", "mlx5", True, id="before-a-digit"),
        pytest.param("user", "user_name", True, id="before-an-underscore"),
        pytest.param("очеред", "очередью", True, id="another-script"),
    ],
)
def test_a_word_is_seen_by_its_stem(stem: str, text: str, seen: bool) -> None:
    assert reading(text, term(stem)).seen.keys() == ({0} if seen else set())


def test_a_pair_of_a_script_without_blanks_is_found_inside_a_run() -> None:
    assert reading("用户登录失败", term("登录")).seen.keys() == {0}


def test_a_near_spelling_is_found_by_what_it_stands_for() -> None:
    assert reading("pgbouncer limits", term("pgbuoncer", substitutes=("pgbounc",))).seen.keys() == {0}


def test_words_side_by_side_count_more_than_words_apart_and_far_ones_nothing() -> None:
    terms = (term("retri"), term("queue"))
    near, apart, far = (reading(f"retries {gap} queue", *terms).proximity for gap in ("", "x" * 30, "x" * 60))
    assert near > apart > far == 0
    assert near <= PAIR_SHARE * 2.0


def test_a_pair_counts_once_by_its_rarer_word() -> None:
    terms = (term("retri", idf=4.0), term("queue", idf=1.0))
    once, often = reading("retry queue", *terms), reading("retry queue " * 20, *terms)
    assert once.proximity == often.proximity <= PAIR_SHARE * 4.0
    assert once.proximity > reading("retry queue", term("retri", idf=4.0), term("queue", idf=0.5)).proximity


def test_a_word_twice_is_no_pair() -> None:
    assert reading("queue queue queue", term("queue")).proximity == 0


def test_only_words_that_stand_together_are_a_passage() -> None:
    terms = (term("retri", idf=3.0), term("queue", idf=2.0), term("worker", idf=2.0))
    found = reading("retry " + "x" * 700 + " queue worker", *terms)
    assert found.seen.keys() == {0, 1, 2}
    assert found.passage == {1, 2}


def test_a_long_text_is_read_at_its_beginning() -> None:
    assert reading("x " * 5_000 + "queue", term("queue")).seen == {}


def test_without_a_known_word_there_is_nothing_to_look_for() -> None:
    assert term_finder([Term("foreign", '"foreign"', 2.0, 0)]) is None


@given(text=st.text(), stems=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=6))
def test_any_stem_is_looked_for_as_it_is_written(text: str, stems: list[str]) -> None:
    found = reading(text, *(term(stem) for stem in stems))
    assert found.passage <= found.seen.keys() <= set(range(len(stems)))
    assert found.proximity >= 0


def test_without_a_mention_there_is_no_passage() -> None:
    assert passage([], [term("queue")]) == frozenset()


def test_what_the_title_says_does_not_choose_the_passage() -> None:
    terms = (term("deadlock", idf=5.0), term("worker"), term("queue"))
    finder = term_finder(terms)
    assert finder is not None
    text = "The deadlock struck. " + "x" * 700 + " The worker of the queue was blocked."
    assert read(text, finder, terms).passage == {0}
    assert read(text, finder, terms, besides={0}).passage == {1, 2}
