"""Three public histories as git repositories: a commit is found as a document as well as it is as a memory."""

from __future__ import annotations

import subprocess
from datetime import datetime
from pathlib import Path

import pytest

from bench.datasets import Dataset, Memory, NoDataError, Question, data_folder, load
from bench.documents import repository
from bench.keeping import ROOT
from bench.scoring import recall
from engram_py import Draft, Engram

ASKED, COMMITS = 60, 400


def sample(name: str) -> Dataset:
    """Return the first questions of a set, the commits that answer them, and as many others as there is room for."""
    try:
        whole = load(name, data_folder())
    except NoDataError as exc:
        pytest.skip(str(exc))
    questions = whole.questions[:ASKED]
    gold = {key for one in questions for key in one.gold}
    others = [one.key for one in whole.memories if one.key not in gold][: max(0, COMMITS - len(gold))]
    kept = gold | {*others}
    return Dataset(name, [one for one in whole.memories if one.key in kept], questions)


def own_history() -> Dataset:
    """Return this project's commits with a body, asked by the first sentence of it."""
    log = ["git", "log", "--no-merges", "--format=%H%x1f%aI%x1f%s%x1f%b%x1e"]
    done = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    rows = [line.strip("\n").split("\x1f") for line in done.stdout.split("\x1e") if line.strip()]
    written = [
        Memory(key, "own", "Ada 1", title, body.strip(), datetime.fromisoformat(at)) for key, at, title, body in rows
    ]
    written = [one for one in written if len(one.content.split()) > 20][:COMMITS]
    if len(written) < ASKED:
        pytest.skip("this checkout has no history")
    asked = [
        Question(one.key, "own", one.content.partition(". ")[0], (one.key,), "")
        for one in written[:: len(written) // ASKED]
    ]
    return Dataset("own", written[::-1], asked)


@pytest.mark.parametrize("name", ["dpdk", "curl", "own"])
def test_a_commit_is_found_as_a_document_as_well_as_it_is_as_a_memory(name: str, tmp_path: Path) -> None:
    data = own_history() if name == "own" else sample(name)
    keys = repository(tmp_path / name, data)
    with Engram(tmp_path / "documents", directory=tmp_path / name) as app:
        app.documents.update("git")
        sources = [[hit.source for hit in app.documents.search(one.text, limit=5).results] for one in data.questions]
    with Engram(tmp_path / "memories", project="whole") as app:
        ids = {}
        for one in data.memories:
            saved = app.save(Draft(one.title or "commit", one.content or one.title, "note"), session_id=one.session)
            ids[saved.id] = one.key
        hits = [[ids[hit.id] for hit in app.search(one.text, limit=5).results] for one in data.questions]

    as_documents = sum(
        recall([keys.get(source.removeprefix("commit:"), "") for source in found], one.gold, 5)
        for found, one in zip(sources, data.questions, strict=True)
    )
    as_memories = sum(recall(found, one.gold, 5) for found, one in zip(hits, data.questions, strict=True))
    assert as_documents >= as_memories > 0
