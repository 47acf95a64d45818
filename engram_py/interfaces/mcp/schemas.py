"""The tools as ``tools/list`` shows them, stored with the package: a server starts without building them.

``make schemas`` writes them again from the declarations in the modules ``tools_*``.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram_py.interfaces.mcp.tool_registry import Tool

STORED = Path(__file__).with_name("schemas.json")


@cache
def stored() -> dict[str, dict[str, Any]]:
    """Name → tool, in the order of their declaration."""
    return {tool["name"]: tool for tool in json.loads(STORED.read_bytes())}


@cache
def declared() -> dict[str, Tool]:
    """Return the tools themselves, which a call needs."""
    from engram_py.interfaces.mcp import (  # noqa: F401 - registers the tools
        tools_layers,
        tools_memory,
        tools_upkeep,
        tools_vault,
        tools_work,
    )
    from engram_py.interfaces.mcp.tool_registry import TOOLS

    return TOOLS


def built() -> str:
    """Return the text that must be stored."""
    return json.dumps([tool.wire for tool in declared().values()], ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    STORED.write_text(built(), encoding="utf-8")
