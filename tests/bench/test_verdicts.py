"""When a run is worse than the committed one, or short of its target."""

from __future__ import annotations

import json

import pytest

from bench.verdicts import COMMITTED, HELD, HELD_DOWN, TARGETS, judge, lines_of, read_committed


@pytest.mark.parametrize(
    ("figure", "now", "fell"),
    [
        pytest.param("ndcg@10", 0.589, True, id="fell-by-more-than-a-hundredth"),
        pytest.param("ndcg@10", 0.591, False, id="fell-by-less"),
        pytest.param("ndcg@10", 0.7, False, id="rose"),
        pytest.param("p95_ms", 90.0, False, id="times-are-the-machine-s"),
        pytest.param("empty", 0.0, False, id="silence-is-judged-by-what-it-costs"),
    ],
)
def test_a_figure_may_not_fall_by_more_than_a_hundredth(figure: str, now: float, fell: bool) -> None:
    said = judge({"made-up": {figure: now}}, {"made-up": {figure: 0.6}})

    assert said == ([f"made-up: {figure} went from 0.600 to {now:.3f}"] if fell else [])


def test_answers_to_foreign_questions_may_not_become_more() -> None:
    before = {"made-up": {"answered": 0.1}}

    assert judge({"made-up": {"answered": 0.12}}, before) == ["made-up: answered went from 0.100 to 0.120"]
    assert judge({"made-up": {"answered": 0.02}}, before) == []


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.name} {target.figure}")
def test_a_target_is_missed_on_its_wrong_side_alone(target: object) -> None:
    from bench.verdicts import Target

    assert isinstance(target, Target)
    worse = target.value + (0.001 if target.at_most else -0.001)

    assert judge({target.name: {target.figure: worse}}, {}) != []
    assert judge({target.name: {target.figure: target.value}}, {}) == []


def test_a_set_that_nobody_measured_before_is_compared_with_its_target_alone() -> None:
    assert judge({"made-up": {"recall@5": 0.01}}, {}) == []


def test_the_committed_result_holds_numbers_and_no_text_of_the_sets() -> None:
    values = json.loads(COMMITTED.read_text(encoding="utf-8"))

    assert set(values) == {"about", "sets"}
    for figures in values["sets"].values():
        assert all(isinstance(value, int | float) for value in figures.values())


def test_the_committed_result_has_every_figure_that_is_held_or_aimed_at() -> None:
    committed = read_committed(COMMITTED)

    for target in TARGETS:
        assert target.figure in committed[target.name]
        assert set(committed[target.name]) & {*HELD, *HELD_DOWN}


def test_the_table_says_how_a_set_moved_and_which_target_it_missed() -> None:
    figures = {
        "questions": 3, "recall@1": 0.2, "recall@5": 0.5, "recall@10": 0.6, "hit@5": 0.5, "mrr@10": 0.3,
        "ndcg@10": 0.4, "empty": 0.0, "refused": 1, "p50_ms": 2.0, "p95_ms": 9.0, "recall@5 of ru": 0.25,
    }  # fmt: skip

    text = "\n".join(lines_of({"cosqa": figures}, {"cosqa": figures | {"recall@5": 0.45}}))

    assert "0.450 (+0.050)" in text
    assert ">= 0.47" in text
    assert "MISSED" not in text
    assert "ru 0.250" in text
    assert "1 questions were refused with an error" in text
