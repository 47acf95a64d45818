"""The words of sessions, prompts, raw messages, checkpoints, and of what passive capture learned."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, age, amount, filled, last_active, one_line, whence
from engram_py.sessions.values import (
    Captured,
    Checkpoint,
    CheckpointLine,
    KeptTurn,
    Prompt,
    PromptSaved,
    SessionLine,
    SessionState,
)

_KEPT = {"added": "kept", "duplicate": "known already"}


def _captured(value: Captured, now: datetime) -> str:
    if not value.extracted:
        return "No learnings found: list them under a heading such as ## Key Learnings"
    ids = " ".join(f"[#{row}]" for row in value.ids)
    return f"Learnings: {value.extracted} found, {value.saved} new, {value.duplicates} known already {ids}".rstrip()


def _session(item: SessionLine, now: datetime) -> str:
    state = "open" if item.ended_at is None else "ended"
    agent = f" {item.agent}" if item.agent else ""
    told = filled((last_active(item, now), state, *whence(item.unchecked)))
    head = f"{item.id} {item.project}{agent} {told}"
    return f"{head} [{amount(item.observations, 'observation')}] {one_line(item.summary or '')}".rstrip()


def _turn(item: KeptTurn, now: datetime) -> str:
    who = f"{item.role} ({item.agent})" if item.agent else item.role
    return f"{age(item.said_at or item.read_at, now)} {item.session_id} {who}: {one_line(item.content)}"


def _checkpoint(value: Checkpoint, now: datetime) -> str:
    """Return the text of a checkpoint, and nothing else."""
    if value.encoding == "utf-8":
        return value.content
    size = amount(value.size, "byte")
    return f"The checkpoint of session {value.session_id} is {size} that are no text; as JSON it comes in base64."


def _checkpoint_line(value: CheckpointLine, now: datetime) -> str:
    saved = age(value.saved_at, now)
    return f"Checkpoint {value.id} of session {value.session_id} in {value.project}: {value.size:,} bytes ({saved})"


WORDS: Words = {
    Checkpoint: _checkpoint,
    CheckpointLine: _checkpoint_line,
    SessionState: lambda value, now: f"Session {value.session.id} {value.event} in {value.session.project}",
    PromptSaved: lambda value, now: f"Prompt {_KEPT[value.outcome]} in {value.project}",
    Captured: _captured,
    SessionLine: _session,
    KeptTurn: _turn,
    Prompt: lambda value, now: (
        f"{value.id} {filled((age(value.created_at, now), *whence(value.unchecked)))} {value.project}: "
        f"{one_line(value.content)}"
    ),
}
