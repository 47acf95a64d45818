"""Every route of Engram's server, as a script that was written for it calls them."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engram_py import Engram
from engram_py.base.dataclass import replace
from engram_py.interfaces.cli.main import cli
from engram_py.memory.observations.values import Change
from tests.interfaces.http.asking import Asker
from tests.support import FakeClock, draft

OBSERVATION = {
    "id", "sync_id", "session_id", "type", "title", "content", "project", "scope", "revision_count",
    "duplicate_count", "pinned", "created_at", "updated_at", "last_seen_at",
}  # fmt: skip


def saved(ask: Asker, title: str = "Chose uv", content: str = "Installs are fast.", **more: Any) -> int:
    return int(ask.ok("POST", "/observations", {"title": title, "content": content, **more})["id"])


def test_a_session_is_started_listed_read_and_ended(ask: Asker, folder: Path) -> None:
    body = {"id": "run/2?x", "project": "widgets", "directory": str(folder)}
    created = ask("POST", "/sessions", body)
    assert (created.status, created.value["id"], created.value["status"]) == (201, "run/2?x", "created")

    saved(ask, session_id="run/2?x")
    [line] = ask.ok("GET", "/sessions/recent")
    assert (line["id"], line["project"], line["observation_count"]) == ("run/2?x", "widgets", 1)
    assert "ended_at" not in line

    address = "/sessions/run%2F2%3Fx"
    assert ask("DELETE", address).status == 409
    assert ask.ok("POST", f"{address}/end", {"summary": "All done."}) == {"id": "run/2?x", "status": "completed"}
    whole = ask.ok("GET", address)
    assert (whole["summary"], whole["ownership_mode"], whole["directory"]) == ("All done.", "shared", str(folder))
    assert len(whole["ended_at"]) == len("2026-01-02 03:04:05")
    assert ask("POST", "/sessions", body).status == 201
    assert "ended_at" not in ask.ok("GET", address)


def server_of(app: Engram, folder: Path, process: str, *, days: int = 0) -> Engram:
    settings = replace(app.settings, clock=FakeClock(app.settings.clock() + timedelta(days=days)))
    return Engram(settings=settings, directory=folder, session_mode="process", hosts=[process])


def test_the_saves_of_an_agents_server_go_to_the_session_that_its_plugin_started(
    ask: Asker, app: Engram, folder: Path, tmp_path: Path
) -> None:
    body = {"id": "uuid-1", "project": "widgets", "directory": str(folder)}
    ask.ok("POST", "/sessions", body)
    ask.ok("POST", "/sessions", body | {"id": "uuid-2", "directory": str(tmp_path)})

    with server_of(app, folder, "1:1") as server, server_of(app, folder, "2:2") as other:
        assert server.save(draft("Installs are fast.")).session_id == "uuid-1"
        ask.ok("POST", "/sessions", body)
        assert other.save(draft("Redis is in memory.")).session_id.startswith("mcp-")
        assert server.save(draft("Files are kept sorted.")).session_id == "uuid-1"


@pytest.mark.parametrize("way", ["ended", "left open"])
def test_no_server_joins_a_session_that_is_over(ask: Asker, app: Engram, folder: Path, way: str) -> None:
    ask.ok("POST", "/sessions", {"id": "uuid-1", "project": "widgets", "directory": str(folder)})
    if way == "ended":
        ask.ok("POST", "/sessions/uuid-1/end")

    with server_of(app, folder, "1:1", days=2 if way == "left open" else 0) as server:
        assert server.save(draft("Installs are fast.")).session_id.startswith("mcp-")


def test_a_session_nobody_started_is_ended_in_words_and_an_empty_one_is_deleted(ask: Asker) -> None:
    answer = ask.ok("POST", "/sessions/nobody/end", {"summary": "lost"})
    assert (answer["status"], "nothing was written" in answer["warnings"][0]) == ("completed", True)
    assert ask("GET", "/sessions/nobody").status == 404
    ask.ok("POST", "/sessions", {"id": "s-2", "project": "widgets"})
    assert ask.ok("DELETE", "/sessions/s-2") == {"id": "s-2", "status": "deleted"}
    assert ask("DELETE", "/sessions/s-2").status == 404


@pytest.mark.parametrize(("action", "status"), [("end", "ended"), ("resolve", "resolved")])
def test_a_runtime_session_is_known_only_to_the_place_that_started_it(
    ask: Asker, folder: Path, action: str, status: str
) -> None:
    body = {"id": "s-1", "project": "widgets", "directory": str(folder)}
    assert ask("POST", f"/runtime-sessions/{action}", body).status == 404
    ask.ok("POST", "/sessions", body | {"resume": True})

    for other in ({"project": "gadgets"}, {"directory": "/elsewhere"}):
        assert ask("POST", f"/runtime-sessions/{action}", body | other).status == 409
    assert ask.ok("POST", f"/runtime-sessions/{action}", body) == {"id": "s-1", "status": status}


def test_sessions_that_left_no_summary_are_summarized_on_request(ask: Asker) -> None:
    assert ask.ok("POST", "/flush") == {"sessions": [], "busy": False}
    ask.ok("POST", "/sessions", {"id": "s-1", "project": "widgets"})
    [session] = ask.ok("POST", "/flush", {"session_id": "s-1"})["sessions"]
    assert (session["session_id"], session["project"], session["result"]) == ("s-1", "widgets", "no_signals")
    assert ask("POST", "/flush", {"session_id": "nobody"}).status == 404


def test_a_session_that_one_project_owns_is_not_given_to_another(ask: Asker) -> None:
    owned = {"id": "s-1", "project": "widgets", "ownership_mode": "project_owned"}
    ask.ok("POST", "/sessions", owned)
    assert ask.ok("GET", "/sessions/s-1")["ownership_mode"] == "project_owned"

    refused = ask("POST", "/sessions", owned | {"project": "gadgets"})
    assert (refused.status, refused.code) == (409, "session_project_conflict")
    assert refused.value["owner_project"] == "widgets"
    assert ask("POST", "/sessions", {"id": "x", "project": "w", "ownership_mode": "mine"}).status == 400


def test_an_observation_is_saved_read_corrected_and_deleted(ask: Asker) -> None:
    body = {"session_id": "s-1", "type": "decision", "title": "Chose uv", "content": "Installs are fast."}
    created = ask("POST", "/observations", body | {"topic_key": "decision/installer", "tool_name": "script"})
    assert created.status == 201
    assert created.value.items() >= {"id": 1, "status": "saved", "outcome": "added"}.items()

    row = ask.ok("GET", "/observations/1")
    assert row.keys() >= OBSERVATION
    assert (row["topic_key"], row["tool_name"], row["state"]) == ("decision/installer", "script", "active")
    assert "deleted_at" not in row

    changed = ask.ok("PATCH", "/observations/1", {"find": "fast", "replace": "quick"})
    assert (changed["content"], changed["revision_count"]) == ("Installs are quick.", 2)
    assert ask.ok("DELETE", "/observations/1") == {"id": 1, "status": "deleted", "hard_delete": False}
    assert ask("GET", "/observations/1").status == 404
    assert ask.ok("DELETE", "/observations/1?hard=true")["hard_delete"] is True


def test_the_project_of_an_observation_never_changes_and_can_be_insisted_on(ask: Asker) -> None:
    saved(ask)
    for target, body in (("?expected_project=gadgets", {"title": "x"}), ("", {"title": "x", "project": "gadgets"})):
        refused = ask("PATCH", f"/observations/1{target}", body)
        assert (refused.status, refused.code) == (409, "project_mismatch")
    assert ask("DELETE", "/observations/1?expected_project=gadgets&hard=1").status == 409
    assert ask("DELETE", "/observations/1?expected_project=%20").status == 400
    assert ask.ok("PATCH", "/observations/1?expected_project=Widgets", {"title": "y"})["title"] == "y"


def test_one_callers_session_does_not_decide_for_another(ask: Asker) -> None:
    ask.ok("POST", "/sessions", {"id": "s-1", "project": "gadgets"})
    saved(ask)
    assert ask.ok("GET", "/observations/1")["project"] == "widgets"


def test_what_was_saved_last_comes_first_and_only_as_much_as_was_asked_for(ask: Asker) -> None:
    """Engram's Codex plugin asks for the newest one, to say how long ago something was saved."""
    for number in range(25):
        saved(ask, title=f"Fact {number}", content=f"Body {number}.")
    saved(ask, title="Elsewhere", content="Other.", project="gadgets")
    ask.ok("PATCH", "/observations/1", {"content": "Corrected."})

    assert [row["id"] for row in ask.ok("GET", "/observations?limit=3&sort=created_at:desc")] == [25, 24, 23]
    assert len(ask.ok("GET", "/observations/recent")) == 20
    assert len(ask.ok("GET", "/observations/recent?limit=100")) == 25
    assert len(ask.ok("GET", "/observations/recent?limit=100&all_projects=true")) == 26
    assert [row["project"] for row in ask.ok("GET", "/observations?project=gadgets")] == ["gadgets"]
    assert len(ask.ok("GET", "/observations/recent?limit=undefined")) == 20
    assert ask("GET", "/observations?sort=title").status == 400


def test_a_pin_is_put_and_taken_away_as_often_as_one_likes(ask: Asker) -> None:
    saved(ask)
    for _ in range(2):
        assert ask.ok("PUT", "/observations/1/pin") == {"id": 1, "pinned": True}
    assert ask.ok("DELETE", "/observations/1/pin") == {"id": 1, "pinned": False}
    assert ask("PUT", "/observations/7/pin").status == 404


def test_learnings_are_kept_from_a_text_that_lists_them(ask: Asker) -> None:
    text = "## Key Learnings\n1. The cache must be warmed before the first request comes in.\n"
    first = ask.ok("POST", "/observations/passive", {"session_id": "s-1", "content": text, "source": "subagent-stop"})
    assert (first["extracted"], first["saved"], first["duplicates"]) == (1, 1, 0)


def test_a_search_answers_whole_observations_best_first_and_an_empty_list_for_nothing(ask: Asker) -> None:
    saved(ask, content="Installs are fast.", type="decision")
    saved(ask, title="Chose ruff", content="Lint is fast, and installs come with it.")
    saved(ask, title="Elsewhere", content="Installs are slow.", project="gadgets")

    found = ask.ok("GET", "/search?q=how+fast+are+installs")
    assert {row["id"]: row["content"] for row in found}[1] == "Installs are fast."
    assert found[0].keys() >= OBSERVATION | {"rank"}
    assert found[0]["rank"] <= found[1]["rank"]
    assert [row["id"] for row in ask.ok("GET", "/search?q=installs&type=decision")] == [1]
    assert {row["id"] for row in ask.ok("GET", "/search?q=installs&all_projects=true")} == {1, 2, 3}
    assert len(ask.ok("GET", "/search?q=installs&limit=1")) == 1
    assert [row["id"] for row in ask.ok("GET", "/search?q=%22lint+is+fast%22+-slow")] == [2]
    assert ask.ok("GET", "/search?q=xylophone") == []


def test_a_timeline_has_whole_neighbours_on_both_sides(ask: Asker) -> None:
    for number in range(1, 6):
        saved(ask, title=f"Fact {number}", content=f"Body {number}.", session_id="s-1")
    found = ask.ok("GET", "/timeline?observation_id=3&before=1&after=5")
    assert [found["focus"]["id"], *(row["id"] for row in (*found["before"], *found["after"]))] == [3, 2, 4, 5]
    assert found["before"][0]["content"] == "Body 2."
    assert (found["session_info"]["id"], found["total_in_range"]) == ("s-1", 5)
    assert ask("GET", "/timeline?observation_id=3&project=widgets").status == 200
    saved(ask, title="Elsewhere", content="Other.", project="gadgets")
    assert ask("GET", "/timeline?observation_id=3&project=gadgets").status == 404
    assert ask("GET", "/timeline").status == 400


def test_prompts_are_kept_listed_found_and_deleted(ask: Asker) -> None:
    created = ask("POST", "/prompts", {"session_id": "s-1", "content": "Make the login faster"})
    assert (created.status, created.value["id"], created.value["status"]) == (201, 1, "saved")
    ask.ok("POST", "/prompts", {"session_id": "s-1", "content": "Write the docs"})

    assert [row["content"] for row in ask.ok("GET", "/prompts/recent")] == ["Write the docs", "Make the login faster"]
    assert [row["id"] for row in ask.ok("GET", "/prompts/search?q=login")] == [1]
    assert ask.ok("DELETE", "/prompts/1") == {"id": 1, "status": "deleted"}
    assert ask("DELETE", "/prompts/1").status == 404
    assert ask("GET", "/prompts/search?q=").status == 400


def test_the_context_is_text_and_empty_when_there_is_nothing(ask: Asker) -> None:
    assert ask.ok("GET", "/context") == {"context": ""}
    saved(ask)
    ask.ok("POST", "/prompts", {"session_id": "s-1", "content": "Make it faster"})

    assert "Make it faster" in ask.ok("GET", "/context")["context"]
    assert "Make it faster" not in ask.ok("GET", "/context?prompts=-1")["context"]
    assert "Installs are fast" not in ask.ok("GET", "/context?compact=true")["context"]
    assert len(ask.ok("GET", "/context?max_bytes=700")["context"].encode()) <= 700
    assert "Chose uv" in ask.ok("GET", "/context?max_bytes=garbage&compact=perhaps")["context"]


def test_after_a_compaction_a_session_gets_its_own_memory_alone(ask: Asker) -> None:
    saved(ask, session_id="s-1")
    saved(ask, title="Chose ruff", content="Lint.", session_id="s-2")

    text = ask.ok("GET", "/context/compaction?session_id=s-1")["context"]
    assert "Chose uv" in text
    assert "Chose ruff" not in text
    assert ask("GET", "/context/compaction?session_id=nobody").status == 404
    assert ask("GET", "/context/compaction").status == 400


def test_the_text_that_a_merge_did_not_take_is_listed_until_somebody_chose(ask: Asker, app: Engram) -> None:
    saved(ask)
    [state] = app.replica.states("observation", [app.get(1).observation.sync_id])
    app.observations.update(1, Change(content="By Ada."))
    theirs = state.payload | {"content": "By Bob.", "revision_count": 2}
    app.replica.apply([replace(state, payload=theirs)], source="git:widgets")

    [untaken] = ask.ok("GET", "/review")["untaken"]
    assert (untaken["id"], untaken["text"], untaken["other"]) == (1, "By Ada.", "By Bob.")
    ask.ok("POST", "/review/mark_reviewed", {"id": 1})
    assert ask.ok("GET", "/review") == {"observations": [], "count": 0}


def test_what_is_due_is_listed_until_it_is_confirmed(ask: Asker, app: Engram) -> None:
    saved(ask, type="decision")
    with app.store.transaction():
        app.store.update("observations", {"id": 1}, {"review_after": "2020-01-01T00:00:00.000Z"})

    listed = ask.ok("GET", "/review")
    assert (listed["count"], listed["observations"][0]["state"]) == (1, "needs_review")
    confirmed = ask.ok("POST", "/review/mark_reviewed", {"id": 1})
    assert (confirmed["id"], confirmed["state"]) == (1, "active")
    assert confirmed["review_after"] > "2026"
    assert ask.ok("GET", "/review") == {"observations": [], "count": 0}
    assert ask("POST", "/review/mark_reviewed", {}).status == 400
    assert ask("POST", "/review/mark_reviewed", {"observation_id": 9}).status == 404


def test_a_topic_key_is_suggested_for_a_text(ask: Asker) -> None:
    assert ask.ok("POST", "/topic-keys/suggest", {"type": "bugfix", "title": "Login race"}) == {
        "topic_key": "bug/login-race"
    }
    assert ask("POST", "/topic-keys/suggest", {"type": "bugfix"}).status == 400


def test_an_export_is_imported_again_without_a_change(ask: Asker) -> None:
    saved(ask, topic_key="decision/installer")
    saved(ask, title="Elsewhere", content="Other.", project="gadgets")

    one, everything = ask("GET", "/export"), ask("GET", "/export?all_projects=true")
    assert one.headers["content-disposition"].startswith("attachment")
    assert [row["project"] for row in one.value["observations"]] == ["widgets"]
    assert len(everything.value["observations"]) == 2
    assert everything.value["observations"][0]["deleted_at"] is None

    done = ask.ok("POST", "/import", everything.body)
    assert (done["observations_imported"], done["skipped_stale"]) == (0, 2)
    moved = everything.value | {"engram_py": {}}
    moved["observations"] = [
        row | {"sync_id": f"obs-{row['id']:016x}", "topic_key": None} for row in moved["observations"]
    ]
    assert ask.ok("POST", "/import", moved)["observations_imported"] == 2


def test_counts_diagnosis_and_health_are_those_of_the_other_doors(ask: Asker, app: Engram) -> None:
    saved(ask)
    stats = ask.ok("GET", "/stats")
    assert (stats["total_observations"], stats["projects"]) == (1, ["widgets"])
    report = ask.ok("GET", "/doctor")
    assert [one["check_id"] for one in report["checks"]] == list(app.doctor.check_ids(engram=True))
    assert report["summary"]["total"] == len(report["checks"])
    assert report["checks"][0].keys() >= {"result", "severity", "evidence", "safe_next_step", "requires_confirmation"}
    assert [one["check_id"] for one in ask.ok("GET", "/doctor?check=clock")["checks"]] == ["clock"]
    health = ask.ok("GET", "/health")
    assert (health["status"], health["service"]) == ("ok", "engram")
    wanted = {"isolated_session_registration", "root_session_resume", "runtime_session_resolution"}
    assert health["capabilities"] == dict.fromkeys(wanted, True)
    named = CliRunner().invoke(cli, ["instance-id"]).stdout.strip()  # Engram's plugins compare the two
    assert health["instance_id"] == ask.ok("GET", "/health")["instance_id"] == app.journal.device() == named


def test_the_project_of_a_directory_is_found_and_never_an_error(ask: Asker, tmp_path: Path) -> None:
    here = ask.ok("GET", "/project/current")
    assert (here["project"], here["project_source"], here["available_projects"]) == ("widgets", "dir_basename", [])
    nowhere = ask.ok("GET", "/project/current?cwd=/")
    assert (nowhere["project"], bool(nowhere["error_hint"])) == ("", True)


def test_a_request_may_stand_in_another_directory(ask: Asker, tmp_path: Path) -> None:
    (tmp_path / "gadgets").mkdir()
    created = ask.ok("POST", f"/observations?cwd={tmp_path / 'gadgets'}", {"title": "Chose uv", "content": "Fast."})
    assert created["project"] == "gadgets"
    assert ask.ok("GET", "/search?q=uv") == []
    assert len(ask.ok("GET", f"/search?q=uv&cwd={tmp_path / 'gadgets'}")) == 1


READS = """
/search?q=x& /context? /stats? /export? /review? /conflicts? /conflicts/stats? /observations? /observations/recent?
/sessions/recent? /prompts/recent? /prompts/search?q=x& /doctor? /sync/status?
"""


@pytest.mark.parametrize("path", READS.split())
def test_a_read_says_which_projects_it_could_have_meant(ask: Asker, path: str) -> None:
    saved(ask)
    ask.ok("POST", "/observations", {"title": "Oboes", "content": "They are tuned.", "project": "nobodies"})
    for query, status, code in (
        ("project=nobody", 404, "unknown_project"),
        ("project=", 400, "invalid_project"),
        ("project=widgets&project=gadgets", 400, "invalid_argument"),
        ("project=widgets&all_projects=true", 400, "invalid_project"),
        ("all_projects=perhaps", 400, "invalid_argument"),
        ("cwd=/", 409, "ambiguous_project"),
        ("cwd=not/absolute", 400, "invalid_argument"),
    ):
        refused = ask("GET", path + query)
        assert (refused.status, refused.code) == (status, code), query
        if status in (404, 409):
            names = {"project=nobody": ["nobodies", "widgets"]}.get(query, ["widgets", "nobodies"])
            assert sorted(refused.value["available_projects"]) == sorted(names)
            assert query != "project=nobody" or refused.value["available_projects"] == names  # the similar one first
            assert "similar" not in refused.value["error"]


def test_relations_are_listed_judged_counted_and_compared(ask: Asker) -> None:
    saved(ask, title="Tokens live one hour", content="One hour.")
    second = ask.ok("POST", "/observations", {"title": "Tokens live two hours", "content": "Two hours."})
    [candidate] = second["candidates"]
    assert second["judgment_required"] is True

    listed = ask.ok("GET", "/conflicts?status=pending")
    assert (listed["total"], listed["limit"], listed["offset"]) == (1, 50, 0)
    assert listed["relations"][0]["source_title"] == "Tokens live two hours"
    body = {"judgment_id": candidate["judgment_id"], "relation": "supersedes", "confidence": 1, "reason": "Newer."}
    judged = ask.ok("POST", "/conflicts/judge", body)["relation"]
    assert (judged["judgment_status"], judged["relation"]) == ("judged", "supersedes")
    assert ask.ok("GET", "/conflicts/1")["source_snippet"] == "Tokens live two hours"
    assert ask.ok("GET", "/conflicts/stats")["by_relation"] == {"supersedes": 1}

    pair = {"memory_id_a": 1, "memory_id_b": 2, "relation": "not_conflict", "confidence": 0.9, "reasoning": "Both."}
    assert ask.ok("POST", "/conflicts/compare", pair)["sync_id"] == candidate["judgment_id"]
    assert ask.ok("GET", "/conflicts")["total"] == 0
    assert ask("GET", "/conflicts/9").status == 404
    assert ask("POST", "/conflicts/judge", body | {"judgment_id": "rel-nobody"}).status == 404
    assert ask("POST", "/conflicts/compare", pair | {"confidence": 2}).status == 400


def test_a_scan_finds_pairs_that_nobody_compared_and_keeps_them_only_when_told(ask: Asker, app: Engram) -> None:
    saved(ask, title="Tokens live one hour", content="One hour.")
    saved(ask, title="Tokens live two hours", content="Two hours.")
    with app.store.transaction():
        app.store.execute("delete from memory_relations")

    dry = ask.ok("POST", "/conflicts/scan", {"project": "widgets"})
    assert (dry["inspected"], dry["candidates_found"], dry["inserted"], dry["dry_run"]) == (2, 1, 0, True)
    kept = ask.ok("POST", "/conflicts/scan", {"apply": True})
    assert (kept["inserted"], kept["already_related"]) == (1, 0)
    first = ask.ok("POST", "/conflicts/scan", {"limit": 1})
    assert ask.ok("POST", "/conflicts/scan", {"limit": 1, "cursor": first["next_cursor"]})["inspected"] == 1
    assert ask("POST", "/conflicts/scan", {"semantic": True}).status == 400
    assert ask("POST", "/conflicts/scan", {"limit": 101}).status == 400


def test_what_is_not_there_yet_says_so_in_the_same_shape(ask: Asker) -> None:
    assert ask.ok("GET", "/conflicts/deferred") == {"total": 0, "limit": 50, "rows": []}
    assert ask.ok("POST", "/conflicts/deferred/replay") == {"retried": 0, "succeeded": 0, "failed": 0, "dead": 0}
    status = ask.ok("GET", "/sync/status")
    assert (status["enabled"], status["deferred_count"]) == (False, 0)
    assert ask("GET", "/sync/status?all_projects=true").code == "unsupported_project_scope"


def test_a_rescue_moves_nothing_that_has_an_owner_and_needs_the_secret(ask: Asker, guarded: Asker) -> None:
    saved(ask, session_id="s-1")
    saved(ask, title="Elsewhere", content="Other.", project="gadgets")
    body = {"target_project": "widgets", "confirmed": True, "observation_ids": [1, 2, 9], "session_ids": ["s-1"]}
    assert guarded("POST", "/projects/migrate", body).code == "unauthorized"

    reply = ask("POST", "/projects/rescue-ownership", body)
    assert (reply.status, reply.value["status"], reply.value["complete"]) == (200, "partially_rescued", False)
    assert [(one["id"], one["reason"], one["owned_by"]) for one in reply.value["blocked"]] == [
        ("2", "owned_by_other_project", "gadgets"),
        ("9", "missing", ""),
    ]
    assert reply.value["rescued_observations"] == 0
    assert ask("POST", "/projects/migrate", {**body, "confirmed": False}).status == 400
    large = json.dumps(body | {"prompt_ids": [1] * 9_000}).encode()
    assert ask("POST", "/projects/migrate", large).status == 413


ASKED = {"source": "claude-code", "content": "help me"}


@pytest.mark.parametrize(("content", "decision"), [
    ("  help me ", "capture"), ("explain <agent-message", "capture"), ("", "skip"), (" \n", "skip"),
    ("\n<task-notification>done", "skip"), ("<agent-message from=x>", "skip"),
])  # fmt: skip
def test_engrams_plugin_is_told_which_prompts_a_program_wrote(
    ask: Asker, folder: Path, content: str, decision: str
) -> None:
    answer = ask.ok("POST", "/prompts/capture-decision", ASKED | {"content": content, "cwd": str(folder)})
    current = ask.ok("GET", f"/project/current?cwd={folder}")
    assert answer == ({"decision": "skip"} if decision == "skip" else current | {"decision": "capture"})
    assert ask.ok("GET", "/stats?all_projects=true")["total_prompts"] == 0


@pytest.mark.parametrize("body", [b"{", b"{} {}", {}, {"cwd": " "}, {"cwd": "/x", "content": None}, {"cwd": 4},
                                  {"cwd": "/x", "content": 7}, {"cwd": "/x", "source": "pi"},
                                  {"cwd": "/x", "extra": True}, {"cwd": "relative"}])  # fmt: skip
def test_any_other_question_about_a_prompt_is_refused(ask: Asker, body: object) -> None:
    asked = ASKED | body if isinstance(body, dict) else body
    assert ask("POST", "/prompts/capture-decision", asked).status == 400


def test_an_isolated_session_has_no_directory_and_takes_none_that_has(ask: Asker) -> None:
    isolated = {"id": "s-1:gadgets", "project": "gadgets", "ownership_mode": "project_owned", "isolated": True}
    assert ask("POST", "/sessions", isolated).value["status"] == "created"
    assert ask.ok("GET", "/sessions/s-1:gadgets")["directory"] == ""
    assert ask("POST", "/sessions", isolated).status == 201
    ask.ok("POST", "/sessions", {"id": "s-2", "project": "gadgets"})
    for refused in (isolated | {"id": "s-2"}, isolated | {"directory": "/tmp"}):
        reply = ask("POST", "/sessions", refused)
        assert (reply.status, reply.code) == (409, "session_isolation_conflict")


def test_a_save_whose_answer_was_lost_is_asked_for_and_one_that_was_deleted_is_gone(ask: Asker) -> None:
    result = "/observations/save-result?operation_id=op-1"
    draft = {"title": "Chose uv", "content": "Fast.", "operation_id": "op-1"}
    assert (ask("GET", result).status, ask("GET", result).code) == (404, "observation_save_result_not_found")
    assert ask("GET", "/observations/save-result").status == 400
    saved = ask.ok("POST", "/observations", draft)
    assert ask.ok("GET", result) == {"id": saved["id"], "status": "committed"}
    assert ask("POST", "/observations", draft | {"content": "Slow."}).status == 409

    later = ask.ok("POST", "/observations", draft | {"title": "Chose uv again", "operation_id": "op-2"})
    ask.ok("DELETE", f"/observations/{saved['id']}")
    assert (ask("GET", result).status, ask("GET", result).code) == (410, "operation_expired")
    ask.ok("DELETE", f"/observations/{saved['id']}?hard=true")
    assert (ask("GET", result).status, ask("POST", "/observations", draft).status) == (410, 410)
    assert ask.ok("GET", "/observations/save-result?operation_id=op-2")["id"] == later["id"]


def test_projects_are_merged_when_the_caller_confirms_it(ask: Asker) -> None:
    saved(ask, project="wigets")
    saved(ask, title="Other", content="Other.", project="widgets")
    body = {"from": ["Wigets"], "to": "widgets", "confirmed": True}
    wrongs: list[dict[str, object]] = [{"confirmed": False}, {"from": []}, {"from": [" "]}, {"to": " "}]
    for wrong in wrongs:
        assert ask("POST", "/projects/merge", body | wrong).status == 400
    assert ask("POST", "/projects/merge", body | {"from": ["nobody"]}).code == "unknown_project"
    done = ask.ok("POST", "/projects/merge", body)
    assert (done["canonical"], done["sources_merged"], done["observations_updated"]) == ("widgets", ["wigets"], 1)
    assert ask.ok("POST", "/projects/merge", body)["sources_merged"] == []
    assert len(ask.ok("GET", "/observations?project=widgets")) == 2


def test_the_organisation_of_an_observation_is_kept_through_import_and_export(ask: Asker) -> None:
    saved(ask)
    document = ask.ok("GET", "/export?all_projects=true")
    assert "org" not in document["observations"][0]
    document["observations"][0] |= {
        "org": "acme",
        "sync_id": "obs-0123456789abcdef",
        "title": "Of Acme",
        "content": "x",
    }
    ask.ok("POST", "/import", document)
    orgs = {row["title"]: row.get("org") for row in ask.ok("GET", "/export?all_projects=true")["observations"]}
    assert orgs["Of Acme"] == "acme"
