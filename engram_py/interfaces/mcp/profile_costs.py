"""What a profile takes of every session before anything is asked: the list of its tools, and the instructions."""

from __future__ import annotations

import json

from engram_py.interfaces.mcp.instructions import INSTRUCTIONS
from engram_py.interfaces.mcp.profiles import PROFILES
from engram_py.interfaces.mcp.schemas import stored
from engram_py.ledger.values import ProfileCost, tokens_of


def profile_costs() -> tuple[ProfileCost, ...]:
    """Each profile's cost, in the order they are documented in."""
    return tuple(_cost(profile, names) for profile, names in PROFILES.items())


def _cost(profile: str, names: tuple[str, ...]) -> ProfileCost:
    wire = [stored()[name] for name in names]
    schemas, instructions = len(json.dumps(wire).encode()), len(INSTRUCTIONS.encode())
    return ProfileCost(profile, len(names), schemas, instructions, tokens_of(schemas + instructions))
