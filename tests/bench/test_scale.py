"""What ``python -m bench.scale`` asks, and that it runs."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from bench.corpus import Corpus
from bench.keeping import ROOT
from bench.scale import Memory, pasted_log, queries


def test_every_kind_of_question_is_asked_equally_often_and_alike_in_each_run() -> None:
    corpus = Corpus.load()
    asked = list(queries(corpus, 5))

    assert asked == list(queries(corpus, 5))
    assert set(Counter(kind for kind, _ in asked).values()) == {5}
    assert len({kind for kind, _ in asked}) == 7


def test_a_pasted_log_has_sixty_words() -> None:
    assert len(pasted_log(Corpus.load(), random.Random(1)).split()) == 60


@pytest.mark.parametrize(("rows", "budget"), [(10_000, 0.7), (100_000, 0.7), (100_001, 1.4), (1_000_000, 1.4)])
def test_the_budget_is_that_of_the_size(rows: int, budget: float) -> None:
    assert Memory(rows, 1).budget == budget


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
