"""Conversations and sync status over HTTP (shared/spec/seed-capabilities.md section 4, rows 55 to 110)."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from engram_py import Engram
from engram_py.sharing.sync.autosync import login
from engram_py.sharing.sync.autosync.exchange import Exchange
from engram_py.sharing.sync.mutation import Mutation
from tests.interfaces.http.asking import Asker, Running, serving, serving_many
from tests.sharing.sync.autosync.team_server import TOKEN, team_server

PORTS = "Keep the ports 4173 and 8443 open for the gateway, and write that into the readme."
SEEDS = {
    "agent_id": "osaurus",
    "conversation_id": "c1",
    "turns": [
        {"user": PORTS, "assistant": "Both stay open.\n\n## Decisions\n- The gateway keeps 4173 and 8443"},
        {"user": "Thanks.", "assistant": "You are welcome."},
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving_many(tmp_path_factory.mktemp("ingest")) as found:
        yield found


def ingest(server: Running, **changes: Any) -> Any:
    reply = server.ask("POST", "/memory/ingest", SEEDS | changes)
    assert reply.status == 200, reply.body
    return reply.value


def found(server: Running, layer: str, query: str) -> list[str]:
    value = server.ask("GET", f"/search?q={quote(query)}&in={layer}").value
    return [one["content"] for one in (value if isinstance(value, list) else value["results"])]


def test_rows_86_and_88_the_seeds_body_is_answered_with_its_episode(server: Running) -> None:
    first, again = ingest(server), ingest(server)

    assert first == again == {
        "session_id": "c1", "project": "widgets", "agent_id": "osaurus", "turns_ingested": 2,
        "distillation": "distilled", "episode_id": first["episode_id"], "warnings": [],
    }  # fmt: skip
    episode = server.ask("GET", f"/observations/{first['episode_id']}").value
    assert (episode["type"], episode["session_id"], episode["revision_count"]) == ("session_summary", "c1", 1)
    [agent] = [one for one in server.ask("GET", "/agents").value if one["id"] == "osaurus"]
    assert (agent["turns"], agent["episodes"]) == (4, 1)


def test_row_103_what_was_only_said_is_found_in_the_transcript_alone(server: Running) -> None:
    ingest(server, conversation_id="whales", turns=[{"user": "Paint the narwhal.", "assistant": "Painted."}])

    assert found(server, "transcript", "narwhal") == found(server, "turns", "narwhal") == ["Paint the narwhal."]
    for layer in ("memories", "episodes", "pinned", "prompts"):
        assert found(server, layer, "narwhal") == []
    everything = server.ask("POST", "/search", {"query": "narwhal", "in": "all"}).value
    assert {name: len(one["results"]) for name, one in everything["layers"].items()} == {
        "memories": 0, "episodes": 0, "turns": 1, "prompts": 0, "documents": 0, "entities": 0,
    }  # fmt: skip
    assert everything["warnings"] == []
    refused = server.ask("GET", "/search?q=narwhal&in=dreams")
    assert (refused.status, refused.code) == (400, "invalid_argument")
    assert "memories, episodes, turns, prompts" in refused.value["hint"]


def test_row_110_agents_are_listed_with_their_facts_and_episodes(server: Running) -> None:
    for agent in ("alice", "bob"):
        ingest(server, agent_id=agent, conversation_id=f"of-{agent}")
    fact = {"entity": "gateway", "text": "The gateway is owned by the platform team.", "session_id": "of-bob"}
    assert server.ask("POST", "/facts", fact).status == 201

    listed = {one["id"]: one for one in server.ask("GET", "/agents").value}
    assert (listed["alice"]["facts"], listed["alice"]["episodes"], listed["alice"]["sessions"]) == (0, 1, 1)
    assert (listed["bob"]["facts"], listed["bob"]["episodes"], listed["bob"]["memories"]) == (1, 1, 1)
    assert server.ask("GET", "/agents/bob").value == listed["bob"]
    unknown = server.ask("GET", "/agents/nobody")
    assert (unknown.status, unknown.code) == (404, "agent_not_found")


def test_a_body_that_is_no_conversation_is_refused_by_its_field(server: Running) -> None:
    for changes, where in (
        ({"turns": [{"user": "x", "assistant": 5}]}, "turns.0.assistant"),
        ({"conversation_id": " "}, "conversation_id"),
        ({"flush": "yes"}, "flush"),
    ):
        refused = server.ask("POST", "/memory/ingest", SEEDS | changes)
        assert refused.status == 400
        assert where in (refused.value.get("argument"), refused.value.get("field"))


def test_row_55_nobody_waits_for_a_distiller_that_sleeps(folder: Path, tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text('import time; time.sleep(3); print(\'{"summary": "It slept over the ports."}\')')
    with serving(folder, ENGRAM_DISTILL_COMMAND=f"{sys.executable} {slow}") as server:
        server.ask("GET", "/health")
        begun = time.perf_counter()
        done = ingest(server)
        assert time.perf_counter() - begun < 0.5
        assert (done["distillation"], "episode_id" in done) == ("pending", False)

        with ThreadPoolExecutor() as pool:  # beside one that waits, another one does not
            waits = pool.submit(ingest, server, flush=True)
            time.sleep(0.3)
            begun = time.perf_counter()
            beside = ingest(server, conversation_id="c2")
            assert time.perf_counter() - begun < 0.5
            assert not waits.done()
            assert (beside["distillation"], waits.result()["distillation"]) == ("pending", "distilled")
        assert "It slept over the ports" in found(server, "episodes", "ports")[0]


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
