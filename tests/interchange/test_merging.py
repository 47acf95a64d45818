"""What happens to a row that both sides hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.observations.values import Detail
from tests.interchange.transfer_files import counts, digest, export, imported, observation, prompt, relation, session

TOPIC = "decision/database"
LATER = "2026-02-02 03:04:05"
EARLIER = "2025-02-02 03:04:05"


def the_one(app: Engram) -> Detail:
    [row] = app.store.rows("select id from observations where deleted_at is null")
    return app.observations.get(row["id"], history=True)


def test_a_newer_text_wins_and_the_older_one_becomes_a_version(app: Engram, tmp_path: Path) -> None:
    imported(app, tmp_path, export(observations=[observation()]))
    before = digest(app)
    for when in (EARLIER, "2026-01-02 03:04:05"):
        result = imported(app, tmp_path, export(observations=[observation(content="Two files.", updated_at=when)]))
        assert (counts(result), digest(app)) == ((0, 0, 1, 0), before)

    result = imported(app, tmp_path, export(observations=[observation(content="Two files.", updated_at=LATER)]))
    found = the_one(app)
    assert counts(result) == (0, 1, 0, 0)
    assert found.observation.content == "Two files."
    assert [version.content for version in found.versions] == ["One file, no daemon."]

    latest = observation(content="Two files.", pinned=True, updated_at="2026-03-02 03:04:05")
    imported(app, tmp_path, export(observations=[latest]))
    assert (the_one(app).observation.pinned, the_one(app).version_total) == (True, 1)
    app.save(Draft("Chose a database", "Ours.", "manual", topic_key=TOPIC))
    imported(app, tmp_path, export(observations=[latest | {"topic_key": TOPIC, "updated_at": "2030-01-01 00:00:00"}]))
    found = the_one(app)  # one row is live for the topic that it took
    assert found.observation.content == "Two files."
    assert {version.content for version in found.versions} == {"Ours.", "One file, no daemon."}


@pytest.mark.parametrize(
    ("when", "live", "kept"),
    [
        pytest.param("2030-01-01 00:00:00", "Theirs.", "Ours.", id="theirs-is-later"),
        pytest.param(EARLIER, "Ours.", "Theirs.", id="ours-is-later"),
    ],
)
def test_a_topic_held_by_both_sides_keeps_both_texts(
    app: Engram, tmp_path: Path, when: str, live: str, kept: str
) -> None:
    app.save(Draft("Chose a database", "Ours.", "manual", topic_key=TOPIC))
    theirs = export(observations=[observation(content="Theirs.", topic_key=TOPIC, updated_at=when)])

    imported(app, tmp_path, theirs)
    before = digest(app)
    imported(app, tmp_path, theirs)

    assert digest(app) == before
    found = the_one(app)
    assert found.observation.content == live
    assert [version.content for version in found.versions] == [kept]


def test_versions_of_the_file_stand_beside_those_that_are_here_in_the_order_they_were_written(
    app: Engram, tmp_path: Path
) -> None:
    app.save(Draft("Chose a database", "Ours.", "manual", topic_key=TOPIC))
    theirs = observation(content="Theirs.", topic_key=TOPIC, updated_at="2090-01-01 00:00:00")
    old = {"sync_id": theirs["sync_id"], "version": 1, "title": "Chose a database", "content": "Theirs at first.",
           "created_at": "2020-01-01T00:00:00.000Z"}  # fmt: skip

    imported(app, tmp_path, export(observations=[theirs], engram_py={"versions": [old]}))

    assert [one.content for one in the_one(app).versions] == ["Ours.", "Theirs at first."]


def test_a_newer_verdict_replaces_an_older_one(app: Engram, tmp_path: Path) -> None:
    both = [observation(), observation(sync_id="obs-00000000000000bb")]
    imported(app, tmp_path, export(observations=both, relations=[relation(judgment_status="pending")]))

    result = imported(app, tmp_path, export(relations=[relation(relation="not_conflict", updated_at=LATER)]))
    again = imported(app, tmp_path, export(relations=[relation(relation="scoped")]))

    assert (counts(result, "relations"), counts(again, "relations")) == ((0, 1, 0, 0), (0, 0, 1, 0))
    assert app.store.value("select relation from memory_relations") == "not_conflict"


def test_a_session_made_up_for_its_rows_is_filled_in_and_one_that_is_here_kept(app: Engram, tmp_path: Path) -> None:
    imported(app, tmp_path, export(observations=[observation()]))
    imported(app, tmp_path, export(sessions=[session(summary="All done.")]))
    again = imported(app, tmp_path, export(sessions=[session(summary="Something else.")]))
    assert (app.sessions.get("s1").directory, app.sessions.get("s1").summary) == ("/work/widgets", "All done.")
    assert counts(again, "sessions") == (0, 0, 1, 0)


def test_a_prompt_that_was_removed_here_or_there_does_not_come_back(app: Engram, tmp_path: Path) -> None:
    imported(app, tmp_path, export(prompts=[prompt()]))
    [kept] = app.prompts.recent("widgets")
    app.prompts.delete(kept.id)
    other = prompt(sync_id="prompt-00000000000000ee")
    stone = {"sync_id": other["sync_id"], "session_id": "s1", "project": "widgets", "deleted_at": LATER}

    result = imported(app, tmp_path, export(prompts=[prompt(), other], prompt_tombstones=[stone]))

    assert counts(result, "prompts") == (0, 0, 2, 0)
    told = [one["sync_id"] for one in app.transfer.document()["prompt_tombstones"]]
    assert told == [prompt()["sync_id"], other["sync_id"]]


def test_what_is_imported_is_queued_for_other_machines(app: Engram, tmp_path: Path) -> None:
    imported(app, tmp_path, export(observations=[observation()], prompts=[prompt()]))
    queued = {row[0] for row in app.store.rows("select entity from sync_mutations")}
    assert {"observation", "prompt", "session", "project"} <= queued
