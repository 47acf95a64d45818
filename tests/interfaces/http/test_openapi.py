"""The description of the routes: complete, and held against the running server by schemathesis."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engram_py.interfaces.http.routing import OPERATIONS
from tests.interfaces.http.asking import Asker, serving

# The routes of Engram's server (spec/engram-behaviour.md 8.1).
ENGRAM = """
GET /health, POST /sessions, POST /sessions/{id}/end, GET /sessions/recent, GET /sessions/{id},
DELETE /sessions/{id}, POST /runtime-sessions/end, POST /runtime-sessions/resolve, POST /observations,
GET /observations, GET /observations/recent, GET /observations/{id}, PATCH /observations/{id},
DELETE /observations/{id}, PUT /observations/{id}/pin, DELETE /observations/{id}/pin,
POST /observations/passive, POST /topic-keys/suggest, GET /review, POST /review/mark_reviewed, GET /search,
GET /timeline, POST /prompts, GET /prompts/recent, GET /prompts/search, DELETE /prompts/{id}, GET /context,
POST /facts, GET /facts, GET /context/compaction, GET /export, POST /import, GET /stats, GET /doctor,
GET /project/current, POST /projects/rescue-ownership, POST /projects/migrate, GET /conflicts,
GET /conflicts/{relation_id}, GET /conflicts/stats, POST /conflicts/judge, POST /conflicts/compare,
POST /conflicts/scan, GET /conflicts/deferred, POST /conflicts/deferred/replay, GET /sync/status
"""

# positive_data_acceptance: a schema cannot say that an id must exist, a project be known, or a title have a letter.
# negative_data_rejection: Engram takes its default for a `limit` that is no number, so this server does.
# ensure_resource_availability: it sends a session's id without percent-encoding it.
# allow_header_conformance: a session may be called `recent`, so DELETE /sessions/recent is allowed.
LEFT_OUT = "positive_data_acceptance,negative_data_rejection,ensure_resource_availability,allow_header_conformance"


def described(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_route_of_engrams_server_is_there_and_described(ask: Asker) -> None:
    document = ask.ok("GET", "/openapi.json")
    routes = dict(described(document))

    assert set(re.split(r",\s+", ENGRAM.strip())) <= set(routes)
    assert len(routes) == len(OPERATIONS) == len({operation["operationId"] for operation in routes.values()})
    assert [name for name, operation in routes.items() if not operation["summary"].endswith(".")] == []


def test_every_refusal_has_one_shape_and_every_answer_a_schema(ask: Asker) -> None:
    document = ask.ok("GET", "/openapi.json")
    for name, operation in described(document):
        for status, response in operation["responses"].items():
            schema = response["content"]["application/json"]["schema"]
            assert schema, name
            assert (schema == {"$ref": "#/components/schemas/Error"}) == (int(status) >= 400), (name, status)
        assert {"400", "401", "403", "421"} <= operation["responses"].keys()


def test_every_schema_that_is_named_is_there(ask: Asker) -> None:
    document = ask.ok("GET", "/openapi.json")
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named - {"Error"} == set(document["components"]["schemas"]) - {"Error"}


@pytest.mark.parametrize(
    ("phases", "examples"),
    [("fuzzing", "2"), pytest.param("coverage,fuzzing", "10", marks=pytest.mark.soak)],
    ids=["a-few", "every-boundary"],
)
def test_no_request_within_or_without_the_description_breaks_the_server(
    folder: Path, tmp_path: Path, phases: str, examples: str
) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip("schemathesis is not installed")
    with serving(folder, ENGRAM_HTTP_TOKEN="swordfish") as server:
        bearer = {"Authorization": "Bearer swordfish"}
        for number in range(3):
            body = {"title": f"Tokens live {number} hours", "content": f"{number} hours.", "type": "decision"}
            assert server.ask("POST", "/observations", body, bearer).status == 201
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json"]
        options = ["--header", "Authorization: Bearer swordfish", "--exclude-checks", LEFT_OUT, "--no-color"]
        bounds = ["--phases", phases, "--max-examples", examples, "--seed", "1"]
        done = subprocess.run(
            [*command, *options, *bounds], cwd=tmp_path, capture_output=True, text=True, timeout=160, check=False
        )
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
        [(selected, of)] = re.findall(r"Selected: (\d+)/(\d+)", done.stdout)
        assert re.findall(r"Tested: (\d+)", done.stdout) == [selected] == [of]
        assert server.ask("GET", "/health").status == 200
        code, log = server.end()
    assert (code, log) == (0, "")
