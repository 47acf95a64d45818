"""The sets of the benchmark: memories in the order they arrive, questions with their evidence, histories of
documents.
"""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.datasets import LOADERS, Dataset, Memory, NoDataError, Question, data_folder, load
from bench.documents import repository
from bench.keeping import ROOT
from bench.scoring import recall
from engram_py import Draft, Engram


def test_a_turn_is_a_memory_under_its_speaker_with_the_caption_at_its_end(sets: Path) -> None:
    first, second, third = load("locomo-turns", sets).memories[:3]

    assert (first.title, first.content) == ("Ada", "The lighthouse keeper bought a telescope.")
    assert second.content == "Which one?\na photo of a brass telescope"
    assert first.project == "conv-1"
    assert first.session == second.session != third.session
    assert first.created_at is not None
    assert second.created_at is not None
    assert first.created_at == datetime(2023, 5, 1, 13, 1, tzinfo=UTC) < second.created_at


def test_a_session_is_one_memory_and_the_evidence_of_its_turns(sets: Path) -> None:
    dataset = load("locomo-sessions", sets)

    assert len(dataset.memories) == 3
    assert dataset.memories[0].content.splitlines() == [
        "Ada: The lighthouse keeper bought a telescope.",
        "Ben: Which one?",
        "a photo of a brass telescope",
    ]
    assert dataset.questions[0].gold == (dataset.memories[0].key,)


def test_every_second_session_is_one_memory_among_turns(sets: Path) -> None:
    dataset = load("locomo-mixed", sets)
    turns, sessions = load("locomo-turns", sets), load("locomo-sessions", sets)
    whole = {memory.key for memory in sessions.memories[::2]}

    keys = [memory.key for memory in dataset.memories]
    assert sorted(keys) == sorted(whole | {turn.key for turn in turns.memories if turn.session not in whole})
    assert [question.part for question in dataset.questions] == [
        "long" if set(question.gold) <= whole else "short" for question in dataset.questions
    ]
    assert {question.part for question in dataset.questions} == {"long", "short"}
    assert all(set(question.gold) <= set(keys) for question in dataset.questions)


@pytest.mark.parametrize("name", ["locomo-turns", "locomo-sessions"])
def test_questions_without_an_answer_are_kept_apart(sets: Path, name: str) -> None:
    dataset = load(name, sets)

    assert [question.part for question in dataset.questions] == ["1", "4", "4"]
    assert [question.part for question in dataset.apart] == ["5"]


def test_each_language_is_a_project_of_its_own(sets: Path) -> None:
    dataset = load("xquad", sets)

    assert dataset.projects == ("xquad-en", "xquad-es")
    assert dataset.questions[1].project == "xquad-es"
    assert dataset.questions[1].gold == ("es/p0",)


def test_a_function_is_titled_by_its_name(sets: Path) -> None:
    assert [memory.title for memory in load("cosqa", sets).memories] == ["flatten_list", "read_csv"]


def test_an_author_and_a_day_make_a_session_of_commits(sets: Path) -> None:
    first, second = load("dpdk", sets).memories

    assert first.session == "Ada 2022-03-01"
    assert second.session == "Ben 2022-03-02"
    assert first.created_at == datetime(2022, 3, 2, 1, 30, tzinfo=UTC)


def test_questions_of_the_same_field_without_an_answer_are_foreign(sets: Path) -> None:
    dataset = load("adr", sets)

    assert [memory.session for memory in dataset.memories] == ["s", "adr"]
    assert [question.gold for question in dataset.questions] == [("m2",)]
    assert [question.text for question in dataset.foreign] == ["who feeds the goats?"]


@pytest.mark.parametrize("name", LOADERS)
def test_evidence_names_memories_of_the_question_s_own_project(sets: Path, name: str) -> None:
    dataset = load(name, sets)
    projects = {memory.key: memory.project for memory in dataset.memories}

    assert len(projects) == len(dataset.memories)
    for question in [*dataset.questions, *dataset.apart]:
        assert {projects[key] for key in question.gold} == {question.project}


def test_a_set_that_is_not_there_says_where_to_point(tmp_path: Path) -> None:
    with pytest.raises(NoDataError, match=r"cosqa\.jsonl\.gz is not there; set ENGRAM_BENCH_DATA"):
        load("cosqa", tmp_path)


ASKED, COMMITS = 30, 200


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
        kept = {keys.get(path[:7]) for [path] in app.store.tuples("select path from documents")}  # those with reasons
        sources = [[hit.source for hit in app.documents.search(one.text, limit=5).results] for one in data.questions]
    with Engram(tmp_path / "memories", project="whole") as app:
        ids = {}
        for one in data.memories:
            if one.key in kept:
                saved = app.save(Draft(one.title, one.content or one.title, "passive"), session_id=one.key)
                ids[saved.id] = one.key
        hits = [[ids[hit.id] for hit in app.search(one.text, limit=5).results] for one in data.questions]

    as_documents = sum(
        recall([keys.get(source.removeprefix("commit:"), "") for source in found], one.gold, 5)
        for found, one in zip(sources, data.questions, strict=True)
    )
    as_memories = sum(recall(found, one.gold, 5) for found, one in zip(hits, data.questions, strict=True))
    assert as_documents >= as_memories - 0.5 > 0
