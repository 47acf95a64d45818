"""The commands that look at what is no longer current, put things away, and take them out."""

from __future__ import annotations

from tests.interfaces.cli.conftest import Run, answer


def test_observations_are_archived_and_taken_out(run: Run) -> None:
    for thing in ("redis", "kafka"):
        run("save", f"Queue in {thing}", f"The queue lives in {thing}.")
    put_away = run("archive", "1", "2")
    archived = [hit["id"] for hit in answer(run("search", "is:archived", "--json"))["results"]]
    hidden = answer(run("search", "queue", "--json"))["results"]
    run("unarchive", "1")

    assert (put_away.exit_code, sorted(archived), hidden) == (0, [1, 2], [])
    assert [hit["id"] for hit in answer(run("search", "queue", "--json"))["results"]] == [1]


def test_observations_move_to_another_project(run: Run) -> None:
    for thing in ("redis", "kafka"):
        run("save", f"Queue in {thing}", f"The queue lives in {thing}.")
    run("save", "Gadgets", "They are blue.", "--project", "gadgets")
    assert run("move", "1", "2", "--to", "gadgets").exit_code == 0
    assert [hit["id"] for hit in answer(run("search", "queue", "--json"))["results"]] == []
    found = answer(run("search", "queue", "--project", "gadgets", "--json"))["results"]
    assert sorted(hit["id"] for hit in found) == [1, 2]


def test_a_search_looks_back_to_a_day(run: Run) -> None:
    run("save", "Queue in redis", "The queue lives in redis.")
    assert "Queue in redis" in run("search", "queue", "--as-of", "2999-01-01").stdout
    assert answer(run("search", "queue", "--as-of", "2020-01-01", "--json"))["results"] == []
    refused = run("search", "queue", "--as-of", "soon")
    assert refused.exit_code != 0
    assert "2026-03-14" in refused.stderr


def test_an_observation_expires_and_counts(run: Run) -> None:
    run("save", "Freeze", "No merges.")
    changed = answer(run("update", "1", "--expires", "2999-03-14", "--salience", "0.9", "--json"))
    assert sorted(changed["changed"]) == ["expires_at", "salience"]
