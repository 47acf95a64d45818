"""The columns of an observation as they leave this machine and come back: read by export, import and sync."""

from __future__ import annotations

from typing import Literal

# How a value from elsewhere is taken: as it is, as a text without its secrets, or as a time.
Kind = Literal["value", "text", "time"]

# Columns that Engram has too, in the order of its JSON.
ENGRAM = (
    "sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key",
    "revision_count", "duplicate_count", "last_seen_at", "created_at", "updated_at", "deleted_at",
)  # fmt: skip

# Columns that Engram's JSON has where they have a value.
SOMETIMES = ("org",)

# Columns of ours alone: they travel in the block `engram_py`, which Engram ignores.
OWN: dict[str, Kind] = {
    "salience": "value",
    "expires_at": "time",
    "git_branch": "text",
    "git_commit": "text",
    "about": "text",
    "entity_kind": "text",
}
# Taken by rules of their own on the way in: aliases are indexed, an origin is believed of our own files alone, and what
# was replaced follows from the verdicts.
SPECIAL = ("aliases", "origin", "lifecycle")
# Counted on each machine by itself: exported, never synced.
COUNTED_HERE: dict[str, Kind] = {"access_count": "value", "last_accessed_at": "time"}

# Engram writes whole seconds: the block repeats these with their milliseconds.
EXACT = ("created_at", "updated_at", "last_seen_at", "deleted_at")
TIMES = frozenset((*EXACT, "review_after"))
