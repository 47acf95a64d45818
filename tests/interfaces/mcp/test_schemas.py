"""The stored list of tools is what the declarations say, and a server lists it without what a call needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from engram_py.interfaces.mcp.schemas import STORED, built
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line

LISTS = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["engram", "mcp"]
from engram_py.__main__ import main
main()
"""


def test_what_is_stored_is_what_is_declared() -> None:
    assert STORED.read_text(encoding="utf-8") == built(), "run `make schemas`"


def test_tools_are_listed_without_the_sdk_pydantic_or_the_memory(folder: Path) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    sent = b"".join(as_line(one) for one in (INITIALIZE, INITIALIZED, listing))

    done = subprocess.run([sys.executable, "-c", LISTS], input=sent, capture_output=True, cwd=folder, check=True)

    assert len(json.loads(done.stdout.splitlines()[1])["result"]["tools"]) == 10
    imported = set(done.stderr.decode().split())
    assert "engram_py.interfaces.mcp.stdio" in imported
    assert imported.isdisjoint({"mcp", "anyio", "asyncio", "pydantic", "starlette", "sqlite3", "engram_py.app"})
