"""Which tools a server offers, a profile or a list of names, and what a profile takes of every session."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram_py.errors import InvalidInputError
from engram_py.interfaces.mcp.instructions import INSTRUCTIONS
from engram_py.interfaces.mcp.schemas import stored

if TYPE_CHECKING:
    from engram_py.ledger.values import ProfileCost

CORE = (
    "mem_save", "mem_search", "mem_context", "mem_get_observation", "mem_update", "mem_delete", "mem_timeline",
    "mem_session_summary", "mem_judge", "mem_current_project",
)  # fmt: skip
LAYERS = (
    "mem_fact",
    "mem_entity",
    "mem_note",
    "mem_write",
    "mem_get",
    "mem_ingest",
    "search_memory",
    "mem_identity",
    "mem_checkpoint",
    "mem_maintain",
)
ADMIN = ("mem_delete", "mem_stats", "mem_timeline", "mem_merge_projects")

PROFILES: dict[str, tuple[str, ...]] = {
    "core": CORE,
    "agent": tuple(name for name in stored() if name not in (*ADMIN, *LAYERS)),
    "admin": ADMIN,
    "layers": LAYERS,
    "all": tuple(stored()),
}


class UnknownToolError(InvalidInputError):
    code = "unknown_tool"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name[:80], list(known)
        hint = f"--tools takes core, agent, admin, layers, all, or {', '.join(known)}"
        super().__init__(f"no tool or profile {self.name!r}", hint=hint)


def select_tools(wanted: str) -> tuple[str, ...]:
    """Return the names of tools: those of a profile (``core``, ``agent``, ``admin``, ``layers``, ``all``), names, or a
    comma-separated mix; empty means core.

    Raises UnknownToolError.
    """
    names: dict[str, None] = {}
    for part in (part.strip() for part in wanted.split(",")):
        if not part:
            continue
        if part not in PROFILES and part not in stored():
            raise UnknownToolError(part, tuple(stored()))
        names |= dict.fromkeys(PROFILES.get(part, (part,)))
    return tuple(names) or CORE


def profile_costs() -> tuple[ProfileCost, ...]:
    """Return each profile's cost before anything is asked: the list of its tools, and the instructions."""
    from engram_py.ledger.values import ProfileCost, tokens_of

    instructions = len(INSTRUCTIONS.encode())
    sizes = {name: len(json.dumps([stored()[tool] for tool in tools]).encode()) for name, tools in PROFILES.items()}
    return tuple(
        ProfileCost(name, len(PROFILES[name]), size, instructions, tokens_of(size + instructions))
        for name, size in sizes.items()
    )
