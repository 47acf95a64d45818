"""The official conformance suite of the Model Context Protocol, against ``/mcp`` of the running server and stdio."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests.clients.bridge import bridged, showing
from tests.clients.conftest import on_newer_node

EXPECTED = Path(__file__).with_name("expected-failures.yml")
PASSED = {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list"}
# What these ask is answered by HTTP itself, which over stdio is the tests' bridge.
OF_HTTP = {"server-sse-multiple-streams", "dns-rebinding-protection"}

Seen = dict[str, list[tuple[str, str, str]]]


def run(url: str, room: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Seen]:
    """The suite's run, and of each scenario the checks: name, status, and what it read that was wrong."""
    command = [*on_newer_node("conformance"), "server", "--url", url, "--output-dir", str(room), *words]
    done = subprocess.run(command, cwd=room.parent, capture_output=True, text=True, timeout=300, check=False)
    seen: Seen = {}
    for file in room.glob("*/checks.json"):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*", "", file.parent.name)
        checks = json.loads(file.read_text(encoding="utf-8"))
        seen[name] = [(one["id"], one["status"], one.get("errorMessage", "")) for one in checks]
    assert seen, done.stdout[-6_000:] + done.stderr[-2_000:]
    return done, seen


def passed(seen: Seen) -> set[str]:
    return {name for name, checks in seen.items() if {status for _, status, _ in checks} == {"SUCCESS"}}


def test_both_transports_conform_but_for_what_is_listed_with_its_reason(folder: Path, tmp_path: Path) -> None:
    with showing(folder) as url:
        done, http = run(url, tmp_path / "http", "--expected-failures", str(EXPECTED))
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert passed(http) == PASSED | OF_HTTP

    with bridged(folder) as url:
        _, stdio = run(url, tmp_path / "stdio")
    for name in http.keys() - OF_HTTP:
        assert stdio[name] == http[name]
    assert passed(stdio) - OF_HTTP == PASSED
