"""proposals"""

from __future__ import annotations

from engram_py.guards.values import Guard

TYPES = ("decision", "preference", "policy")


def proposal(title: str, content: str) -> Guard | None:
    return None
