"""The tool of upkeep. The profile ``layers`` offers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram_py.interfaces.mcp.argument_types import Field
from engram_py.interfaces.mcp.tool_registry import SETTLES, tool

# As in tools_memory: what only a call needs is imported by the call.
if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.upkeep.values import Maintained

PASSES = ("heartbeat", "consolidate", "synthesize")


@tool(title="Tend the memory", hints=SETTLES, aliases={"pass": "name"})
def mem_maintain(
    app: Engram,
    name: Annotated[str | None, Field(enum=PASSES, description="Left out: what is due.")] = None,
) -> Maintained:
    """Run a pass of upkeep now; servers do that by themselves."""
    return app.maintenance.run(name)
