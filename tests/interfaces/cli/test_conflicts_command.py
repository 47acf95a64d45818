"""``engram conflicts``: relations listed, shown, counted, looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.cli.conftest import Run, answer


@pytest.fixture
def rivals(run: Run) -> Run:
    run("save", "Access tokens live 15 minutes", "Stolen access tokens expire.", "--type", "decision")
    run("save", "Access tokens live 60 minutes", "Stolen access tokens expire late.", "--type", "decision")
    return run


def test_relations_are_listed_shown_and_counted(rivals: Run) -> None:
    [one] = answer(rivals("conflicts", "--json"))["relations"]
    assert {one["source_observation"], one["target_observation"]} == {1, 2}
    assert "may relate to" in rivals("conflicts", "list").stdout
    assert answer(rivals("conflicts", "stats", "--json"))["by_judgment_status"] == {"pending": 1}

    rivals("judge", one["sync_id"], "supersedes", "--reason", "measured")
    for name in (str(one["id"]), one["sync_id"]):
        shown = rivals("conflicts", "show", name).stdout
        assert "[#2] Access tokens live 60 minutes supersedes [#1] Access tokens live 15 minutes" in shown
        assert "reason: measured" in shown
    assert answer(rivals("conflicts", "show", one["sync_id"], "--json"))["reason"] == "measured"
    assert rivals("conflicts", "list", "--status", "pending").stdout == "No relations\n"
    assert answer(rivals("conflicts", "stats", "--json"))["by_relation"] == {"supersedes": 1}


def test_a_scan_says_what_it_would_keep_and_keeps_it_when_told(rivals: Run, data_dir: Path) -> None:
    with Engram(data_dir) as app, app.store.transaction():
        app.store.execute("delete from memory_relations")

    first = rivals("conflicts", "scan")
    assert "1 pair alike, 1 new" in first.stdout
    assert "--apply" in first.stdout
    assert answer(rivals("conflicts", "list", "--json"))["total"] == 0
    assert answer(rivals("conflicts", "scan", "--apply", "--json"))["inserted"] == 1
    assert answer(rivals("conflicts", "list", "--json"))["total"] == 1


def test_what_sync_could_not_apply_is_listed(rivals: Run, data_dir: Path) -> None:
    assert rivals("conflicts", "deferred").stdout == "Nothing waits to be applied\n"
    with Engram(data_dir) as app, app.store.transaction():
        values = {"entity": "observation", "entity_key": "obs-1", "op": "upsert", "payload": "{}", "project": "widgets"}
        values |= {"target_key": "cloud", "reason_code": "unreadable", "apply_status": "dead"}
        app.store.insert("sync_apply_deferred", values | {"first_seen_at": "2026-01-01T00:00:00.000Z"})

    found = answer(rivals("conflicts", "deferred", "--status", "dead", "--json"))
    assert (found["total"], found["rows"][0]["entity_key"]) == (1, "obs-1")
    assert rivals("conflicts", "deferred").stdout == "1 observation obs-1 of widgets: dead, unreadable\n"
    assert answer(rivals("conflicts", "deferred", "--status", "deferred", "--json"))["total"] == 0
    assert answer(rivals("conflicts", "deferred", "--replay", "--json"))["dead"] == 1


def test_an_unknown_status_is_wrong_usage(rivals: Run) -> None:
    assert rivals("conflicts", "list", "--status", "odd").exit_code == 2


def test_any_two_observations_get_a_verdict(rivals: Run) -> None:
    run = rivals("conflicts", "compare", "2", "supersedes", "1", "--reason", "measured")
    assert run.exit_code == 0
    assert [hit["id"] for hit in answer(rivals("search", "access tokens", "--json"))["results"]] == [2]
