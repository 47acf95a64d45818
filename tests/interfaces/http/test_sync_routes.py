"""What the routes say of sync with a server: how it is, and what could not be applied yet."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.sync.autosync import login
from engram_py.sync.autosync.exchange import Exchange
from engram_py.sync.mutation import Mutation
from tests.interfaces.http.asking import Asker
from tests.sync.autosync.team_server import TOKEN, team_server

CLOCK = "019b00000000-0000-00000000000000bb"


def relation(source: str, target: str) -> Mutation:
    payload = {
        "sync_id": "rel-00000000000000aa", "source_id": source, "target_id": target, "relation": "supersedes",
        "judgment_status": "judged", "project": "widgets", "created_at": "2026-01-01 10:00:00",
        "updated_at": "2026-01-01 10:00:00", "marked_by_actor": "ada", "marked_by_kind": "user",
    }  # fmt: skip
    return Mutation("relation", payload["sync_id"], "upsert", "widgets", payload, CLOCK, "2026-01-01T10:00:00.000Z")


def test_what_arrived_before_what_it_depends_on_is_listed_and_tried_again(ask: Asker, app: Engram) -> None:
    one = ask.ok("POST", "/observations", {"title": "one", "content": "One."})
    app.replica.apply([relation(one["sync_id"], "obs-00000000000000ff")], source="cloud")

    listed = ask.ok("GET", "/conflicts/deferred?status=deferred")
    assert (listed["total"], listed["limit"]) == (1, 50)
    assert (listed["rows"][0]["entity_key"], listed["rows"][0]["apply_status"]) == ("rel-00000000000000aa", "deferred")
    assert ask.ok("GET", "/conflicts/deferred?status=dead")["rows"] == []
    assert ask.ok("GET", "/conflicts/deferred?limit=1&offset=1")["rows"] == []
    assert ask("GET", "/conflicts/deferred?status=nonsense").status == 400
    assert ask.ok("GET", "/conflicts/stats")["deferred"] == 1
    assert ask.ok("GET", "/sync/status")["deferred_count"] == 1
    assert ask.ok("POST", "/conflicts/deferred/replay") == {"retried": 1, "succeeded": 0, "failed": 1, "dead": 0}


def test_the_status_says_which_server_it_is_and_what_is_wrong(
    ask: Asker, app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "_keep_in_keychain", lambda server, token: False)
    with team_server(grants={"widgets": "write"}) as team:
        app.autosync.account.login(team.address, TOKEN)
        app.autosync.account.enroll(["widgets"])
        assert ask.ok("GET", "/sync/status")["phase"] == "idle"
        ask.ok("POST", "/observations", {"title": "one", "content": "One."})
        team.always["push"] = lambda request: request.raw(b"", 502)
        exchange = Exchange(app.store, app.journal, lambda: app.replica, app.settings)
        exchange.once()
        exchange.close()

    status = ask.ok("GET", "/sync/status")
    assert (status["enabled"], status["phase"], status["reason_code"]) == (True, "push_failed", "transport_failed")
    assert (status["consecutive_failures"], "status 502" in status["last_error"]) == (1, True)
    assert status["backoff_until"]
    assert TOKEN not in str(status)
