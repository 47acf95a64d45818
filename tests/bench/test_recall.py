"""``python -m bench.recall`` itself, on sets of a few lines."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from bench.datasets import LOADERS, load
from bench.keeping import ROOT
from bench.recall import Run, filled, main


def recall_process(sets: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench.recall", *arguments],
        cwd=ROOT,
        env=os.environ | {"ENGRAM_BENCH_DATA": str(sets)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def recall(sets: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["bench.recall", *arguments]),
        mock.patch.dict(os.environ, {"ENGRAM_BENCH_DATA": str(sets)}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main()
        except SystemExit as exc:
            code = int(exc.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


@pytest.mark.soak
def test_every_set_is_asked_over_stdio_and_its_figures_written(sets: Path, tmp_path: Path) -> None:
    done = recall_process(sets, "--json", str(tmp_path / "figures.json"))

    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))["sets"]
    assert set(figures) == {
        *LOADERS, "foreign-locomo-turns", "foreign-locomo-sessions",
    }  # fmt: skip
    assert figures["xquad"]["recall@5"] == figures["cosqa"]["recall@5"] == figures["dpdk"]["recall@5"] == 1
    assert figures["locomo-turns"]["questions"] == 3
    assert figures["locomo-turns"]["adversarial questions"] == 1
    # Each of the four questions, in the one other project.
    assert figures["foreign-locomo-turns"]["questions"] == 4


@pytest.mark.soak
def test_every_way_of_saving_and_asking_gives_the_same_answers(sets: Path, tmp_path: Path) -> None:
    answers = []
    for number, how in enumerate(((), ("--in-process",), ("--in-process", "--by", "save"))):
        file = tmp_path / f"{number}.jsonl"
        recall_process(sets, *how, "--sets", "locomo-turns", "--answers", str(file))
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        answers.append([(row["set"], row["id"], row["keys"]) for row in rows if row["set"].endswith("locomo-turns")])

    assert answers[0] == answers[1] == answers[2]
    assert any(keys for _, _, keys in answers[0])


@pytest.mark.soak
def test_a_kept_memory_is_asked_in_a_copy(sets: Path, tmp_path: Path) -> None:
    run = Run(["cosqa"], None, in_process=True, by_save=False, keep=tmp_path / "kept", room=tmp_path / "room")
    run.folder.mkdir(parents=True)
    data_dir, keys = filled(run, load("cosqa", sets))

    assert data_dir.is_relative_to(tmp_path / "room")
    assert (data_dir / "engram.db").read_bytes() == (tmp_path / "kept" / "cosqa" / "engram.db").read_bytes()
    assert sorted(keys.values()) == ["0", "1"]


def test_check_fails_when_a_figure_fell_below_the_result_it_is_held_against(sets: Path, tmp_path: Path) -> None:
    against = tmp_path / "before.json"
    arguments = ("--sets", "cosqa", "--in-process", "--check", "--against", str(against))

    assert recall(sets, *arguments, "--update").returncode == 0
    values = json.loads(against.read_text(encoding="utf-8"))
    assert set(values["sets"]) == {"cosqa"}
    values["sets"]["cosqa"]["recall@5"] = 1.5
    against.write_text(json.dumps(values), encoding="utf-8")

    fallen = recall(sets, *arguments)
    assert fallen.returncode == 1
    assert "cosqa: recall@5 went from 1.500 to 1.000" in fallen.stderr


@pytest.mark.soak
def test_an_update_of_some_sets_leaves_the_others_as_they_were(sets: Path, tmp_path: Path) -> None:
    against = tmp_path / "before.json"
    against.write_text(json.dumps({"about": "", "sets": {"xquad": {"recall@5": 0.9}}}), encoding="utf-8")

    recall(sets, "--sets", "cosqa", "--in-process", "--update", "--against", str(against))

    figures = json.loads(against.read_text(encoding="utf-8"))["sets"]
    assert figures["xquad"] == {"recall@5": 0.9}
    assert figures["cosqa"]["recall@5"] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--limit", "2", "--check"), "nothing to --update or --check", id="part-of-a-set"),
        pytest.param(("--sets", "trec"), "trec: not one of", id="unknown-set"),
        pytest.param(("--answers", str(ROOT / "bench" / "answers.jsonl")), "stays out of the project", id="text-here"),
        pytest.param(("--set", "floor=1"), "a setting is ENGRAM_NAME=value", id="no-setting"),
        pytest.param(("--keep", "x", "--by", "save"), "leave out --by save", id="kept-saves"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(sets: Path, arguments: tuple[str, ...], said: str) -> None:
    done = recall(sets, *arguments)

    assert done.returncode == 2
    assert said in done.stderr


def test_without_the_sets_it_says_where_they_are_looked_for(tmp_path: Path) -> None:
    done = recall_process(tmp_path, "--in-process")

    assert done.returncode == 2
    assert "set ENGRAM_BENCH_DATA" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.soak
def test_some_questions_are_spread_over_the_set(sets: Path, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    recall(sets, "--sets", "xquad", "--in-process", "--limit", "1", "--answers", str(file))

    assert [json.loads(line)["id"] for line in file.read_text(encoding="utf-8").splitlines()] == ["en-1"]
