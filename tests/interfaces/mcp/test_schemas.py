"""The stored list of tools is what the declarations say, listed without what a call needs, and its size is pinned."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client

from engram_py.interfaces.mcp.profiles import INSTRUCTIONS, PROFILES, STORED, built, profile_costs
from engram_py.interfaces.mcp.server import build_server
from engram_py.ledger.costs import ProfileCost
from engram_py.settings import Settings
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


# The most bytes of each profile's list of tools, as a host is sent it. Lower a pin when a schema has shrunk; before
# raising one, shorten a description.
SCHEMA_BYTES = {"core": 7_260, "agent": 12_050, "admin": 1_950, "layers": 8647, "all": 22519}
INSTRUCTION_BYTES = 760
# How far below its pin a size may be before the pin says nothing any more.
SLACK = 0.05


def sizes() -> dict[str, ProfileCost]:
    return {one.profile: one for one in profile_costs()}


def test_every_profile_has_a_pin() -> None:
    assert set(SCHEMA_BYTES) == set(PROFILES) == set(sizes())


@pytest.mark.parametrize(("profile", "most"), SCHEMA_BYTES.items())
def test_the_schemas_of_a_profile_take_no_more_than_their_pin(profile: str, most: int) -> None:
    size = sizes()[profile].schema_bytes
    assert size <= most, f"{profile}: {size} bytes of schema, {size - most} over its pin; shorten a description"
    assert size >= most * (1 - SLACK), f"{profile}: {size} bytes of schema; lower its pin of {most}"


def test_the_instructions_take_no_more_than_their_pin() -> None:
    size = len(INSTRUCTIONS.encode())
    assert {one.instruction_bytes for one in profile_costs()} == {size}
    assert INSTRUCTION_BYTES * (1 - SLACK) <= size <= INSTRUCTION_BYTES, f"{size} bytes of instructions"


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_host_is_sent_what_was_measured(settings: Settings, profile: str) -> None:
    async with Client(build_server(settings, tools=profile)) as client:
        listed = (await client.list_tools()).tools
        instructions = client.instructions or ""

    wire = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]
    measured = sizes()[profile]
    assert (len(wire), len(json.dumps(wire).encode())) == (measured.tools, measured.schema_bytes)
    assert len(instructions.encode()) == measured.instruction_bytes
