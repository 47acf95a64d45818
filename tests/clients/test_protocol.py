"""The conformance suite and the inspector of the Model Context Protocol, against ``/mcp`` and stdio."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clients.bridge import bridged, showing
from tests.clients.conftest import on_newer_node
from tests.interfaces.http.asking import Running, serving

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


SERVER = [sys.executable, "-m", "engram_py", "mcp", "--tools=all"]
SEARCH = ["tools/call", "--tool-name", "mem_search", "--tool-args-json"]
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@dataclass(frozen=True)
class Inspector:
    command: list[str]
    folder: Path
    server: Running

    def over_stdio(self, era: str, *words: str) -> tuple[int, Any, Any]:
        variables = [f"{name}={os.environ[name]}" for name in os.environ if name.startswith(("ENGRAM_", "GIT_"))]
        given = [word for one in variables for word in ("-e", one)]
        return self._run("--protocol-era", era, *given, "--method", *words, "--", *SERVER)

    def over_http(self, era: str, *words: str) -> tuple[int, Any, Any]:
        url, secret = (
            f"http://127.0.0.1:{self.server.port}/mcp",
            f"Authorization: {self.server.secret['authorization']}",
        )
        return self._run(
            "--protocol-era", era, "--transport", "http", "--server-url", url, "--header", secret, "--method", *words
        )

    def _run(self, *words: str) -> tuple[int, Any, Any]:
        """The exit code, what it printed, and its complaint: JSON, without the age of what was just saved."""
        done = subprocess.run(
            [*self.command, "--cli", "--format", "json", *words],
            cwd=self.folder, env={**os.environ, "HOME": str(self.folder.parent)}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        out, err = (re.sub(r"\b(now|\d+m)\b", "AGE", text) for text in (done.stdout, done.stderr))
        return done.returncode, json.loads(out or "null"), json.loads(err or "null")


@pytest.fixture
def inspector(folder: Path) -> Iterator[Inspector]:
    command = on_newer_node("mcp-inspector")
    with serving(folder, "0", "--tools", "all") as server:
        yield Inspector(command, folder, server)
        assert server.end() == (0, "")


def save(title: str) -> list[str]:
    values = {"title": title, "content": "**What** It resolves in a second."}
    return ["tools/call", "--tool-name", "mem_save", "--tool-args-json", json.dumps(values)]


@ERAS
def test_what_is_offered_and_answered_is_the_same(inspector: Inspector, era: str) -> None:
    assert inspector.over_stdio(era, *save("Chose uv"))[0] == 0
    assert inspector.over_http(era, *save("Chose ruff \N{ROCKET}"))[0] == 0

    for words, code, holds in [
        (["initialize"], 0, "mem_context"),
        (["tools/list", "--strict"], 0, "mem_save"),
        (["resources/list"], 0, "engram://observation/2"),
        (["resources/templates/list"], 0, "engram://context/{project}"),
        (["resources/read", "--uri", "engram://observation/1"], 0, "resolves in a second"),
        (["resources/read", "--uri", "engram://context/widgets"], 0, "\N{ROCKET}"),
        (["resources/read", "--uri", "engram://observation/99"], 1, "#99 does not exist"),
        (["prompts/list"], 0, "wrap-up"),
        (["prompts/get", "--prompt-name", "wrap-up"], 0, "mem_session_summary"),
        (["prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=uv"], 0, "Chose uv"),
        (["prompts/get", "--prompt-name", "zap"], 1, "recall or wrap-up"),
        ([*SEARCH, '{"query": "ruff"}'], 0, "\N{ROCKET}"),
        ([*SEARCH, '{"query": 5}'], 5, "query must be text"),
        (["tools/call", "--tool-name", "mem_sav"], 5, "tool_not_found"),
        (["logging/setLevel", "--log-level", "debug"], 1, "does not support logging"),
    ]:
        seen = inspector.over_stdio(era, *words)
        assert seen == inspector.over_http(era, *words)
        assert (seen[0], holds in json.dumps(seen, ensure_ascii=False)) == (code, True), seen
