"""``engram serve``: its settings and unit files, its log, and the OpenAPI description held against it by
schemathesis.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import plistlib
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engram_py.base.settings import DEFAULTS, load_settings
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http import peers
from engram_py.interfaces.http.routing import ROUTES
from engram_py.interfaces.http.server import Seldom
from engram_py.interfaces.setup.services import launchd_unit, systemd_unit
from tests.interfaces.http.asking import Asker, serving
from tests.support import names

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")


@LINUX
@pytest.mark.parametrize(("bound", "client"), [("127.0.0.1", "127.0.0.1"), ("::1", "::1"),
                                               ("127.0.0.1", "::ffff:127.0.0.1")])  # fmt: skip
def test_the_kernel_says_that_a_connection_is_this_users_until_it_is_closed(bound: str, client: str) -> None:
    with socket.create_server((bound, 0), family=socket.AF_INET6 if ":" in bound else socket.AF_INET) as listening:
        asking = socket.create_connection((client, listening.getsockname()[1]), timeout=10)
        with listening.accept()[0] as ours:
            assert peers.is_of_this_user(ours)
            asking.sendall(b"x")
            asking.close()  # its line in the kernel's table says user 0 now, who is no owner
            assert not peers.is_of_this_user(ours)
            assert ours.recv(1) == b"x"


@LINUX
def test_a_unix_socket_is_nobodys_by_the_kernels_table() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not peers.is_of_this_user(ours)


def test_a_line_that_repeats_is_logged_once_a_minute_with_how_often(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1_000.0
    monkeypatch.setattr("engram_py.interfaces.http.server.time.monotonic", lambda: now)
    logger = logging.getLogger("of-this-test")
    logger.addFilter(Seldom())

    for minute in range(2):
        now += 60.0
        for number in range(1_000):
            logger.error("request %d failed", number + 1_000 * minute)
        logger.error("another line")

    assert [record.getMessage() for record in caplog.records] == [
        "request 0 failed",
        "another line",
        "request 1000 failed (999 more since the last such line)",
        "another line",
    ]


AWKWARD = ["/opt/my python/bin/python", "-m", "engram_py", "serve", "50%", 'a"b', "c\\d", "$HOME", "line\nbreak"]


def printed(*words: str) -> str:
    result = CliRunner().invoke(cli, ["serve", *words], prog_name="engram")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_systemd_unit_starts_this_program_with_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "swordfish")
    unit = printed("8080", "--project", "widgets", "--unit", "systemd")
    [line] = [line for line in unit.splitlines() if line.startswith("ExecStart=")]

    command = shlex.split(line.removeprefix("ExecStart="))
    assert command == [sys.executable, "-m", "engram_py", "serve", "8080", "--project", "widgets"]
    assert any(line.startswith('Environment="ENGRAM_DATA_DIR=') for line in unit.splitlines())
    assert "swordfish" not in unit


def test_a_launchd_unit_starts_this_program_with_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "swordfish")
    unit = printed("--socket", "/run/engram.sock", "--unit", "launchd")
    values = plistlib.loads(unit.encode())

    assert values["ProgramArguments"] == [sys.executable, "-m", "engram_py", "serve", "--socket", "/run/engram.sock"]
    assert "ENGRAM_DATA_DIR" in values["EnvironmentVariables"]
    assert "swordfish" not in unit


def test_awkward_words_come_through_a_unit_as_they_are() -> None:
    assert plistlib.loads(launchd_unit(AWKWARD, {"A": "<&>"}).encode())["ProgramArguments"] == AWKWARD

    unit = systemd_unit(AWKWARD, {"ENGRAM_DATA_DIR": "/a $b/50%"})
    lines = unit.splitlines()
    assert r'"50%%" "a\"b" "c\\d" "$$HOME" "line\nbreak"' in next(one for one in lines if one.startswith("ExecStart="))
    assert 'Environment="ENGRAM_DATA_DIR=/a $b/50%%"' in lines


@pytest.mark.parametrize("given", ["0", "-1", "65536", "http", "7437x", "٧٤٣٧", "999999999999"])
def test_a_port_that_is_none_is_ignored_and_said_so(data_dir: Path, given: str) -> None:
    settings = load_settings({"ENGRAM_PORT": given}, data_dir=data_dir)
    assert settings.port == DEFAULTS["port"]
    assert names(settings.warnings) == ["setting_ignored"]
    assert load_settings({"ENGRAM_PORT": " 8080 "}, data_dir=data_dir).port == 8080


def test_the_token_is_not_shown_by_the_settings(data_dir: Path) -> None:
    assert "swordfish" not in repr(load_settings({"ENGRAM_HTTP_TOKEN": "swordfish"}, data_dir=data_dir))


def test_the_port_may_be_an_option_and_excludes_another_and_a_socket() -> None:
    for words, said in ((["8080", "--socket", "x"], "exclude each other"), (["8080", "--port", "8081"], "two ports")):
        result = CliRunner().invoke(cli, ["serve", *words], prog_name="engram")
        assert (result.exit_code, said in result.output) == (2, True)
    assert printed("--port", "8080", "--unit", "systemd") == printed("8080", "--unit", "systemd")


def test_no_other_command_pays_for_the_server(folder: Path) -> None:
    code = """
import sys
from engram_py.interfaces.cli import observations
from engram_py.interfaces.mcp import stdio
heavy = ("engram_py.interfaces.http", "engram_py.memory.observations.browse")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
# Why a request within the description is refused, as docs/reference/http.md says: what a text says, or two values
# together, by the code; of `invalid_argument` by the argument.
REFUSED_FOR_MEANING = {
    "invalid_export",  # an import of JSON that is none of ours
    "invalid_project", "empty_field", "empty_query", "fact_refused", "entity_refused", "outside_vault",
    "unsupported_project_scope", "id", "ids", "entity", "path", "turns.0", "memory_id_b", "observation_id", "limit",
    "response_format", "update",
}  # fmt: skip
# Values in an address that Engram takes its default for where it cannot read them.
READ_LENIENTLY = re.compile(r"[?&](limit|offset|observations|prompts|pinned|max_bytes|hard|compact|before|after)=")


def failures_of(report: str) -> Iterator[tuple[str, str]]:
    """Yield (the code of schemathesis, what it shows) of each failure."""
    for part in re.split(r"\n\d+\. Test Case ID", report)[1:]:
        yield from ((code, part) for code in re.findall(r"- (ST\d+) ", part))


def test_what_the_description_allows_is_taken_and_what_it_does_not_is_refused_but_for_what_is_documented(
    folder: Path, tmp_path: Path
) -> None:
    if importlib.util.find_spec("schemathesis") is None:
        pytest.skip("schemathesis is not installed")
    with serving(folder, ENGRAM_HTTP_TOKEN="swordfish") as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json"]
        options = ["--header", "Authorization: Bearer swordfish", "--no-color", "--phases", "coverage", "--seed", "1"]
        checks = ["-c", "positive_data_acceptance,negative_data_rejection"]
        done = subprocess.run(
            [*command, *options, *checks], cwd=tmp_path, capture_output=True, text=True, timeout=160, check=False
        )

    assert "Tested: 89" in done.stdout
    for code, shown in failures_of(done.stdout):
        if code == "ST202":
            [reason] = re.findall(r'"code":"(\w+)"', shown)[:1]
            reason = reason if reason != "invalid_argument" else re.findall(r'"argument":"([\w.]+)"', shown)[0]
            assert reason in REFUSED_FOR_MEANING, shown
        else:
            assert code == "ST201"
            assert READ_LENIENTLY.search(shown), shown


LEFT_OUT = "positive_data_acceptance,negative_data_rejection,ensure_resource_availability,allow_header_conformance"


def described(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_every_route_of_engrams_server_is_there_and_described(ask: Asker) -> None:
    document = ask.ok("GET", "/openapi.json")
    routes = dict(described(document))

    assert set(re.split(r",\s+", ENGRAM.strip())) <= set(routes)
    assert len(routes) == len(ROUTES) == len({operation["operationId"] for operation in routes.values()})
    assert [name for name, operation in routes.items() if not operation["summary"].endswith(".")] == []


def test_every_refusal_has_one_shape_and_every_answer_a_schema_that_is_there(ask: Asker) -> None:
    document = ask.ok("GET", "/openapi.json")
    for name, operation in described(document):
        for status, response in operation["responses"].items():
            schema = response["content"]["application/json"]["schema"]
            assert schema, name
            assert (schema == {"$ref": "#/components/schemas/Error"}) == (int(status) >= 400), (name, status)
        assert {"400", "401", "403", "421"} <= operation["responses"].keys()
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert named - {"Error"} == set(document["components"]["schemas"]) - {"Error"}


@pytest.mark.parametrize(
    ("phases", "examples"),
    [("fuzzing", "1"), pytest.param("coverage,fuzzing", "10", marks=pytest.mark.soak)],
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
