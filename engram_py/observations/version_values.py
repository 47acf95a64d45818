"""What an observation said before, and what replaced what."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """A text an observation had before."""

    version: int
    title: str
    content: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """A verdict on the line of an observation: which replaced which, when and why, and what the older one says."""

    at: str
    reason: str | None
    newer: int
    newer_title: str
    older: int
    older_title: str
    older_content: str
