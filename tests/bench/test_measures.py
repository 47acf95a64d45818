"""The measures of the benchmark: prompts, decisions, scores, verdicts, scale and generated memories."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench import memories
from bench.corpus import Corpus
from bench.datasets import Question, load
from bench.decisions import deciding_words, decision_part, half
from bench.filling import fill
from bench.gate import logistic
from bench.keeping import ROOT, fingerprint, kept
from bench.prompts import Given, Prompt, line_of, projects, prompts_of
from bench.scale import queries
from bench.scoring import Answer, answered, by_part, figures, hit, ndcg, recall, reciprocal_rank
from bench.verdicts import COMMITTED, HELD, HELD_DOWN, TARGETS, judge, lines_of, read_committed
from engram_py.guidance.context.gate_model import INPUTS, fitted


@pytest.mark.parametrize("file", projects(), ids=lambda file: file.stem)
def test_every_label_names_a_memory_that_stands(file: Path) -> None:
    values = json.loads(file.read_text(encoding="utf-8"))
    standing = {one["id"] for one in values["memories"] if not one.get("superseded_by")}
    for prompt in prompts_of(values):
        assert {*prompt.due, *prompt.ok} <= standing, prompt.text


def test_there_are_four_hundred_prompts_a_third_of_them_with_nothing_due_and_half_unseen() -> None:
    prompts = [one for file in projects() for one in prompts_of(json.loads(file.read_text(encoding="utf-8")))]
    assert len(prompts) >= 400
    assert sum(not one.due for one in prompts) >= len(prompts) / 3
    assert 0.4 < sum(one.half == "report" for one in prompts) / len(prompts) < 0.6


def test_a_line_counts_what_was_given_what_was_pointed_to_and_what_was_of_use() -> None:
    due, quiet = Prompt("p", "why?", (1, 2), (3,), "question"), Prompt("p", "thanks", (), (3,), "chatter")
    said = line_of("all", [Given(due, (2, 9)), Given(due, ()), Given(quiet, (3,)), Given(quiet, (9,), pointed=True)])
    assert "due 2: given 0.50, pointed to 0.00" in said
    assert "nothing due 2: given 0.00, pointed to 0.50" in said
    assert "of use 2 of 3 lines (0.67)" in said


def test_the_fit_finds_the_number_that_tells_and_what_is_shipped_has_every_part() -> None:
    zeros = (0.0,) * (len(INPUTS) - 1)
    rows = [(value / 10, *zeros) for value in range(20)]
    sides = [float(value >= 8) for value in range(20)]
    found = logistic(rows, sides)
    assert (found["strength"] > 1, found["title"]) == (True, 0)
    for model in ("words", "meaning"):
        assert set(fitted()[model]) == {"bias", *INPUTS, "given", "named"}


RECORD = """# Use Fargate

## Context and decision drivers

Nodes are work.

## Decision Outcome

Run on Fargate.

### Consequences of it

No daemons.

## Consequences

Cheaper.
"""


@pytest.mark.parametrize(
    "heading", ["Decision Outcome", "Decision", "2. Decision", "The existing decision", "Proposal"]
)
def test_the_decision_goes_from_its_heading_to_the_next_of_its_level(heading: str) -> None:
    part = decision_part(RECORD.replace("Decision Outcome", heading))
    assert " ".join(part.split()) == "Run on Fargate. ### Consequences of it No daemons."


def test_a_record_without_such_a_heading_has_no_decision() -> None:
    assert decision_part("## What\n\nA table.\n\n## Decision drivers\n\nCost.") == ""


def test_the_rarest_words_decide_but_none_of_a_link_or_of_the_question() -> None:
    part = "We will run daemons on [Fargate](https://example.org/zebra) nodes.\n\n[zebra]: https://example.org"
    rows = {"fargate": 1, "daemons": 2, "nodes": 9, "run": 50}
    assert deciding_words(part, rows) == ["fargate", "daemons", "nodes", "run"]
    assert deciding_words(part, rows, without=["fargate"]) == ["daemons", "nodes", "run"]


def test_a_question_is_of_the_same_half_in_every_run() -> None:
    halves = [half(Question(str(number), "adr", f"question {number}", (), "")) for number in range(200)]
    assert halves[:4] == ["report", "report", "report", "build"]
    assert 70 < halves.count("build") < 130


def test_every_kind_of_question_is_asked_equally_often_and_alike_in_each_run() -> None:
    corpus = Corpus.load()
    asked = list(queries(corpus, 5))

    assert asked == list(queries(corpus, 5))
    assert set(Counter(kind for kind, _ in asked).values()) == {5}
    assert len({kind for kind, _ in asked}) == 7


@pytest.mark.soak
def test_a_small_memory_is_filled_and_measured(tmp_path: Path) -> None:
    arguments = ("--rows", "200", "--rounds", "2", "--keep", str(tmp_path / "kept"), "--json", str(tmp_path / "x.json"))
    done = subprocess.run(
        [sys.executable, "-m", "bench.scale", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    lines = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["lines"]
    assert [line["what"].split(",")[0] for line in lines if not line["what"].startswith(" ")] == [
        "200 observations",
        "200 observations in 20 projects",
    ]
    assert sum(line["what"] == "  mem_context" for line in lines) == 2
    assert sum(line["what"] == "  mem_save in a new project" for line in lines) == 2
    assert {path.name for path in (tmp_path / "kept").iterdir()} == {"scale-200-1", "scale-200-20"}


def answer(keys: Sequence[str], gold: Sequence[str], part: str = "", *, seconds: float = 0.001) -> Answer:
    return Answer(Question("q", "p", "?", tuple(gold), part), keys, seconds)


def test_recall_hits_ranks_and_gains_are_counted_in_the_first_places() -> None:
    keys = ["a", "x", "y", "b", "z", "c"]

    assert [recall(keys, ["a", "b", "c"], k) for k in (1, 5, 10)] == pytest.approx([1 / 3, 2 / 3, 1])
    assert hit(["x", "b"], ["a", "b"], 5) == 1
    assert hit(["x", "b"], ["a", "b"], 1) == 0
    others = [f"x{number}" for number in range(10)]

    assert reciprocal_rank([*others[:9], "a"], ["a"]) == pytest.approx(0.1)
    assert reciprocal_rank([*others, "a"], ["a"]) == 0
    assert ndcg(["a", "b"], ["a", "b"]) == 1
    assert ndcg(["x", "a"], ["a"]) == pytest.approx(1 / math.log2(3))
    many = [f"g{number}" for number in range(12)]
    assert ndcg(many[:10], many) == pytest.approx(1)


def test_the_figures_of_a_set_count_what_was_empty_or_refused() -> None:
    question = Question("q", "p", "?", ("a",), "")
    values = figures([answer(["a"], ["a"]), answer([], ["a"]), Answer(question, [], 0.1, refused=True)])

    assert (values["questions"], values["refused"]) == (3, 1)
    assert values["recall@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert values["empty"] == pytest.approx(2 / 3, abs=1e-4)
    assert (values["p50_ms"], values["p95_ms"]) == (1, 100)


def test_parts_are_reported_and_answers_to_foreign_questions_and_new_sets_judged() -> None:
    assert by_part([answer(["a"], ["a"], "en"), answer([], ["a"], "es")]) == {"en": 1, "es": 0}
    assert by_part([answer(["a"], ["a"], "en")]) == {}
    quoted = replace(answer(["x"], ["a"]), quoted=("x",))
    assert answered([quoted, answer(["x"], ["a"])]) == 0.5
    before = {"made-up": {"answered": 0.1}}

    assert judge({"made-up": {"answered": 0.12}}, before) == ["made-up: answered went from 0.100 to 0.120"]
    assert judge({"made-up": {"answered": 0.02}}, before) == []
    assert judge({"made-up": {"recall@5": 0.01}}, {}) == []


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


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.name} {target.figure}")
def test_a_target_is_missed_on_its_wrong_side_alone(target: object) -> None:
    from bench.verdicts import Target

    assert isinstance(target, Target)
    worse = target.value + (0.001 if target.at_most else -0.001)

    assert judge({target.name: {target.figure: worse}}, {}) != []
    assert judge({target.name: {target.figure: target.value}}, {}) == []


def test_the_committed_result_holds_numbers_alone_and_every_figure_that_is_held_or_aimed_at() -> None:
    values = json.loads(COMMITTED.read_text(encoding="utf-8"))

    assert set(values) == {"about", "sets"}
    for numbers in values["sets"].values():
        assert all(isinstance(value, int | float) for value in numbers.values())
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


def rows_of(data_dir: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(data_dir / "engram.db")) as database:
        return database.execute(sql).fetchall()


def test_an_import_keeps_the_order_the_sessions_and_the_times(sets: Path, folder: Path, tmp_path: Path) -> None:
    dataset = load("locomo-turns", sets)
    memories.import_into(tmp_path / "filled", folder, dataset)

    rows = rows_of(tmp_path / "filled", "select sync_id, project, session_id, created_at from observations order by id")
    assert [row[:3] for row in rows] == [
        (memories.sync_id(memory.key), memory.project, memory.session) for memory in dataset.memories
    ]
    assert [str(row[3])[:19] for row in rows] == [
        memory.created_at.strftime("%Y-%m-%dT%H:%M:%S") for memory in dataset.memories if memory.created_at
    ]


@pytest.mark.soak
def test_memories_without_a_time_are_of_one_age(sets: Path, folder: Path, tmp_path: Path) -> None:
    memories.import_into(tmp_path / "filled", folder, load("xquad", sets))

    assert rows_of(tmp_path / "filled", "select count(distinct created_at) from observations") == [(1,)]


@pytest.mark.soak
def test_saving_keeps_the_order_and_gives_what_has_no_title_its_key(sets: Path, folder: Path, tmp_path: Path) -> None:
    dataset = load("xquad", sets)
    keys = memories.save_into(tmp_path / "saved", folder, dataset)

    rows = rows_of(tmp_path / "saved", "select sync_id, title, session_id from observations order by id")
    assert [keys[str(row[0])] for row in rows] == [memory.key for memory in dataset.memories]
    assert [row[1:] for row in rows] == [(memory.key, memory.session) for memory in dataset.memories]


def test_a_kept_memory_is_used_again_until_what_fills_it_changes(tmp_path: Path) -> None:
    filled: list[str] = []

    def fill_with(name: str) -> Path:
        def into(data_dir: Path) -> None:
            data_dir.mkdir()
            (data_dir / "engram.db").write_text(name, encoding="utf-8")
            filled.append(name)

        return kept(tmp_path / "store", "tiny", name, into)

    for name in ("one", "one", "two"):
        home = fill_with(name)

    assert filled == ["one", "two"]
    assert (home / "engram.db").read_text(encoding="utf-8") == "two"


def test_a_filling_that_stops_halfway_leaves_nothing_to_use(tmp_path: Path) -> None:
    def halfway(data_dir: Path) -> None:
        data_dir.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "store", "tiny", "one", halfway)

    assert list((tmp_path / "store").iterdir()) == []


def test_a_folder_that_is_not_ours_is_never_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "store" / "tiny"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("years of work", encoding="utf-8")

    with pytest.raises(OSError):
        kept(tmp_path / "store", "tiny", "one", lambda data_dir: data_dir.mkdir())

    assert (mine / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_a_fingerprint_follows_the_set_and_the_code() -> None:
    names = {fingerprint([], "a"), fingerprint([], "b"), fingerprint(["migrations/*.sql"], "a")}

    assert len(names) == 3


def test_a_memory_that_twenty_projects_share_gives_each_a_twentieth(folder: Path, tmp_path: Path) -> None:
    count = fill(tmp_path / "spread", folder, Corpus.load().many(799), projects=20)

    shares = dict(rows_of(tmp_path / "spread", "select project, count(*) from observations group by project"))
    assert count == 800
    assert len(shares) == 20
    assert set(shares.values()) <= {39, 40, 41}
    mixed = "select session_id from observations group by session_id having count(distinct project) > 1"
    assert rows_of(tmp_path / "spread", mixed) == []
