"""Numbers of things, in words."""

from __future__ import annotations


def amount(number: int, thing: str) -> str:
    """``1 question``, ``1,024 questions``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
