"""The score of a row from its words, its best passage, its neighbours, and vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.reasons import reason
from engram_py.base.times import to_text
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.citations import citation_factor
from engram_py.recall.fusion import fuse, vector_nats
from engram_py.recall.hits import Signals, factors, recency
from engram_py.recall.index import Length
from engram_py.recall.reading import Reader, term_finder
from engram_py.recall.score import AFTER, BEFORE, SECOND, Neighbours, Scored, Term, best_of, first_scores, idf, score
from engram_py.recall.values import Text
from engram_py.recall.vectors.values import Nearest

USUAL = 100


def term(rows: dict[int, float], *, titled: tuple[int, ...] = (), idf: float = 2.0, discount: float = 1.0) -> Term:
    return Term("queue", '"queue"', idf, len(rows), mentions=rows, titled=dict.fromkeys(titled, 1.0), discount=discount)


def test_the_rarer_a_word_the_more_it_tells() -> None:
    weights = [idf(rows, 1000) for rows in (0, 1, 10, 500, 1000)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    assert idf(2000, 1000) == idf(1000, 1000)  # rows that were deleted are counted as well
    assert idf(0, 0) > 0


def test_a_row_has_the_sum_of_its_words_each_by_its_worth() -> None:
    found = first_scores([term({1: 1.0, 2: 1.0}), term({1: 1.0}, discount=0.5)])
    assert found == pytest.approx({1: 3.0, 2: 2.0})
    assert best_of(found, 1) == [1]


def test_a_row_borrows_of_its_neighbours_in_part_what_it_has_not_itself_each_word_once() -> None:
    found = score([term({5: 1.0})], {5: Neighbours(before=4, after=6, second=7)}, {}, USUAL)
    assert {row: one.lent for row, one in found.items()} == pytest.approx(
        {4: BEFORE * 2.0, 5: 0.0, 6: AFTER * 2.0, 7: SECOND * 2.0}
    )
    assert BEFORE < SECOND < AFTER < 1
    words = [term({1: 1.0, 2: 1.0, 3: 1.0}), term({1: 1.0, 2: 1.0}, idf=3.0)]
    around = {1: Neighbours(after=2, second=3), 2: Neighbours(before=1, after=3), 3: Neighbours()}
    found = score(words, around, {}, USUAL)
    assert (found[1].lent, found[2].lent) == (0.0, 0.0)
    assert found[3].lent == pytest.approx(AFTER * 3.0)


NOW = datetime(2026, 3, 31, tzinfo=UTC)
OLD = to_text(NOW - timedelta(days=4000))


def observation(**fields: Any) -> Observation:
    row: dict[str, Any] = dict.fromkeys(Observation.__dataclass_fields__)
    row |= {"pinned": False, "salience": 0.5, "access_count": 0, "lifecycle": "active", "updated_at": OLD}
    return Observation(**(row | fields))


def factors_of(row: Observation, signals: Signals | None = None) -> Mapping[str, float]:
    return factors(row, NOW, signals or Signals(), recency(row, NOW))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        pytest.param("recency", {"updated_at": to_text(NOW)}, id="newer"),
        pytest.param("pinned", {"pinned": True}, id="pinned"),
        pytest.param("use", {"access_count": 3}, id="used"),
        pytest.param("salience", {"salience": 0.9}, id="salient"),
    ],
)
def test_what_lifts_a_row_is_named_and_small(name: str, fields: dict[str, Any]) -> None:
    found = factors_of(observation(**fields))
    assert 1 < found[name] <= 1.1


def test_what_lets_a_row_sink_is_named() -> None:
    sunk = observation(expires_at=OLD, review_after=OLD, salience=0.1)
    found = factors_of(sunk, Signals(elsewhere=True))
    assert set(found) == {"expired", "overdue", "branch", "salience"}
    assert all(0 < factor < 1 for factor in found.values())


@pytest.mark.parametrize("time", [to_text(NOW + timedelta(days=1)), None, "", "garbage"])
def test_a_time_to_come_or_none_lets_nothing_sink(time: str | None) -> None:
    assert factors_of(observation(review_after=time, expires_at=time)) == {}


@pytest.mark.parametrize("salience", [-5.0, 7.0])
def test_salience_is_held_between_none_and_all(salience: float) -> None:
    [factor] = factors_of(observation(salience=salience)).values()
    assert factor in (0.94, 1.06)


def test_what_was_shown_in_vain_sinks_although_nobody_cited_anything() -> None:
    assert factors_of(observation(), Signals(injected=20)) == {"cited": round(citation_factor(20, 0), 4)}
    assert citation_factor(20, 0) < 1


def wanted_term(stem: str, *, idf: float = 2.0, substitutes: tuple[str, ...] = ()) -> Term:
    return Term(stem, f'"{stem}"', idf, 1, () if substitutes else (stem,), substitutes=substitutes)


def read(text: str, *terms: Term, title: str = "") -> Scored:
    """A row of that text, as a search reads it."""
    one = Scored(1)
    row = SimpleNamespace(title=title, content=text, topic_key=None, aliases="", is_summary=False)
    Reader(terms, USUAL).read(one, cast("Text", row), Length(max(1, len(text.split())), len(title.split())))
    return one


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
        pytest.param("登录", "用户登录失败", True, id="inside-a-run-without-blanks"),
        pytest.param("retri", "Retried the Deployments", True, id="a-capital"),
        pytest.param("deploy", "undeploy", False, id="behind-a-syllable"),
        pytest.param("queue", "x " * 5_000 + "queue", False, id="behind-the-beginning-of-a-long-text"),
    ],
)
def test_a_word_is_seen_by_its_stem(stem: str, text: str, seen: bool) -> None:
    assert read(text, wanted_term(stem)).words == ((stem,) if seen else ())


def test_a_near_spelling_is_found_by_what_it_stands_for_and_where_nothing_is_known_nothing() -> None:
    assert read("pgbouncer limits", wanted_term("pgbuoncer", substitutes=("pgbounc",))).words == ("pgbuoncer",)
    assert term_finder([Term("foreign", '"foreign"', 2.0, 0)]) is None
    assert read("queue", Term("foreign", '"foreign"', 2.0, 0)).own == 0


def test_words_of_one_passage_count_more_than_words_scattered_over_a_text() -> None:
    terms = (wanted_term("retri"), wanted_term("queue"))
    together, scattered = (f"{'x ' * 400}retries {gap} queue {'x ' * 400}" for gap in ("", "x " * 400))
    assert read(together, *terms).passage > read(scattered, *terms).passage
    assert read(together, *terms).own > read(scattered, *terms).own


def test_a_short_statement_is_not_buried_under_a_long_text_that_has_its_words_as_often() -> None:
    terms = (wanted_term("retri"), wanted_term("queue"))
    said = "retries of the queue stop after five"
    assert read(said, *terms).own > read(f"{'x ' * 60}{said}{' x' * 600}", *terms).own


def test_only_words_that_stand_together_are_held_and_those_of_the_title_by_every_passage() -> None:
    terms = (wanted_term("retri", idf=3.0), wanted_term("queue", idf=2.0), wanted_term("worker", idf=2.0))
    found = read("retry " + "x" * 700 + " queue worker", *terms)
    assert set(found.words) == {"retri", "queue", "worker"}
    assert found.held == {1, 2}
    assert not found.has_all_words
    terms = (wanted_term("deadlock", idf=5.0), wanted_term("worker"), wanted_term("queue"))
    text = "The deadlock struck. " + "x" * 700 + " The worker of the queue was blocked."
    assert read(text, *terms).held == {0}
    assert read(text, *terms, title="A deadlock").held == {0, 1, 2}


@given(text=st.text(), stems=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=6))
def test_any_stem_is_looked_for_as_it_is_written(text: str, stems: list[str]) -> None:
    found = read(text, *(wanted_term(stem) for stem in stems))
    assert len(found.held) <= len(found.words) <= len(stems)
    assert 0 <= found.passage_share <= found.coverage + 1e-9


MANY = 1_000


def nearest(cosines: dict[int, float], *, weight: float = 1.2, population: int = MANY) -> Nearest:
    """Cosines in a memory whose others lie around zero, with a deviation of a tenth."""
    return Nearest(tuple(cosines.items()), 0.0, 0.1, population, weight)


def order(ranked: Sequence[tuple[int, float]]) -> list[int]:
    return [key for key, _ in ranked]


def test_what_is_best_on_both_sides_comes_first_what_has_no_vector_keeps_its_place_and_the_far_is_last() -> None:
    ranked = fuse([(1, 9.0), (2, 5.0)], nearest({1: 0.6, 2: 0.3, 3: 0.2}), nats=12.0)
    assert order(ranked) == [1, 2, 3]
    assert ranked[0][1] == pytest.approx(1.0)
    words = [(1, 9.0), (2, 8.0), (3, 2.0)]
    with_all = fuse(words, nearest({1: 0.5, 2: 0.45, 3: 0.2}), nats=10.0)
    one_missing = fuse(words, nearest({1: 0.5, 3: 0.2}), nats=10.0)
    assert order(with_all) == order(one_missing) == [1, 2, 3]
    assert vector_nats(nearest({1: -0.2}))[1] < 0
    assert order(fuse([(1, 5.0), (2, 5.0)], nearest({1: -0.2, 2: 0.1, 3: 0.3}), nats=5.0))[-1] == 1


def test_each_side_counts_by_the_best_it_has_to_show_and_not_by_its_scale() -> None:
    vague_words = [(1, 2.0), (2, 1.9)]
    assert order(fuse(vague_words, nearest({3: 0.65, 1: 0.1, 2: 0.1}), nats=2.0))[0] == 3
    rare_words = [(1, 14.0), (2, 3.0)]
    assert order(fuse(rare_words, nearest({3: 0.25, 1: 0.1, 2: 0.1}), nats=14.0))[0] == 1
    words = [(1, 8.0), (2, 4.0)]
    far, near = (fuse(words, nearest({1: 0.0, 2: 0.0, 3: cosine}, weight=1.0), nats=8.0) for cosine in (0.33, 0.34))
    assert order(far)[:2] == [1, 2]  # half of 8² against 5.4²
    assert order(near) == [1, 3, 2]  # 5.8² is more
    three = nearest({1: 0.3, 2: 0.5, 3: 0.4})
    small = fuse([(1, 0.003), (2, 0.002)], three, nats=9.0)
    large = fuse([(1, 300.0), (2, 200.0)], three, nats=9.0)
    assert order(small) == order(large)
    assert [score for _, score in small] == pytest.approx([score for _, score in large])


def test_without_vectors_the_order_of_the_words_stays() -> None:
    words = [(4, 3.0), (9, 2.0), (2, 2.0), (7, 0.5)]
    for silent in (Nearest(), Nearest(note=reason("no_vectors")), nearest({}), Nearest(((9, 0.5),), 0.5, 0.0, 1)):
        assert order(fuse(words, silent, nats=8.0)) == [4, 9, 2, 7]
    weightless = nearest({2: 0.9, 4: 0.8}, weight=0.0)
    assert order(fuse(words, weightless, nats=8.0)) == [4, 9, 2, 7]
    assert order(fuse([], nearest({5: 0.2, 6: 0.6, 7: 0.4}), nats=0.0)) == [
        6,
        7,
        5,
    ]  # nor without words that of vectors


def test_a_cosine_is_worth_the_logarithm_of_the_normal_tail_times_the_weight_of_the_model() -> None:
    near = {weight: vector_nats(nearest({1: 0.5}, weight=weight))[1] for weight in (0.25, 1.0)}
    assert near[1.0] == pytest.approx(5.0**2 / 2)
    assert near[0.25] * 4 == pytest.approx(near[1.0])


def test_the_nearest_of_more_texts_is_nearer_by_chance() -> None:
    assert nearest({}).chance == pytest.approx(3.717, abs=0.001)  # sqrt(2 ln 1000)
    assert nearest({}, population=MANY**2).chance > nearest({}).chance > nearest({}, population=0).chance > 0


numbers = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)
scored = st.lists(st.tuples(st.integers(1, 40), numbers), max_size=25, unique_by=lambda one: one[0])


@given(
    scored,
    scored,
    st.floats(0, 200),
    st.floats(-1, 1),
    st.floats(0, 1),
    st.integers(0, 10**6),
    st.floats(0, 2),
)
def test_any_two_lists_become_one_total_order_with_scores_from_zero_to_one(
    words: list[tuple[int, float]],
    near: list[tuple[int, float]],
    nats: float,
    mean: float,
    deviation: float,
    population: int,
    weight: float,
) -> None:
    found = Nearest(tuple(near), mean, deviation, population, weight)
    ranked = fuse(words, found, nats=nats)
    keys = order(ranked)
    assert len(keys) == len(set(keys))
    assert {key for key, score in words if score > 0} <= set(keys)
    assert all(0.0 <= score <= 1.0 + 1e-9 for _, score in ranked)
    assert [score for _, score in ranked] == sorted((score for _, score in ranked), reverse=True)
    assert fuse(words, found, nats=nats) == ranked
    assert set(found.deviations()) <= {key for key, _ in near}
