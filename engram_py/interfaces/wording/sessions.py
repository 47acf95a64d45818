"""The words of sessions, prompts and raw messages, of conversations taken over, of summaries and checkpoints, and of a
search in all layers together.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from engram_py.interfaces.wording import documents, search
from engram_py.interfaces.wording.phrases import (
    SpelledWords,
    Words,
    age,
    amount,
    clock,
    filled,
    joined,
    last_active,
    one_line,
    plain_line,
    summary_outcome,
    whence,
)
from engram_py.interfaces.wording.reasons import Door
from engram_py.memory.sessions.checkpoints import AgentLine
from engram_py.memory.sessions.values import (
    CapturedLearnings,
    Checkpoint,
    CheckpointLine,
    KeptTurn,
    Prompt,
    PromptSaved,
    Said,
    SessionLine,
    SessionState,
)
from engram_py.recall.layers import Layered, SaidResults
from engram_py.recall.values import DocumentResults, Results
from engram_py.upkeep.distill.ingesting import Ingested
from engram_py.upkeep.distill.values import Flushed

_KEPT = {"added": "kept", "duplicate": "already known"}


def _captured(value: CapturedLearnings, now: datetime) -> str:
    if not value.extracted:
        return "No learnings found: list them under a heading such as ## Key Learnings"
    ids = " ".join(f"[#{row}]" for row in value.ids)
    return f"Learnings: {value.extracted} found, {value.saved} new, {value.duplicates} already known {ids}".rstrip()


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
    return f"The checkpoint of session {value.session_id} is binary ({size}). Use --json (base64)."


_QUERY_CHARS = 200


def _said_results(value: SaidResults, now: datetime) -> str:
    kind = value.layer.removesuffix("s")
    where = "all projects" if value.projects is None else ", ".join(value.projects)
    if not value.results:
        query = plain_line(value.query, _QUERY_CHARS)
        return f'No {kind} has "{query}" in {where} ({amount(value.kept or 0, kind)} searched).'
    head = f"{amount(len(value.results), kind)} in {where}, best first:"
    return "\n".join([head, *(line for one in value.results for line in _said(one, now))])


def _said(one: Said, now: datetime) -> Iterator[str]:
    who = f"{one.role} ({one.agent})" if one.agent else one.role
    yield f"{one.session_id} {who}, {clock(one.said_at, now, '%Y-%m-%d')} ({age(one.said_at, now)}):"
    yield f"  {one.content}"


def _layered(value: Layered, now: datetime, door: Door) -> str:
    named = {name for name, one in value.layers.items() if isinstance(one, Results) and one.documents}
    empty = [name for name, found in value.layers.items() if not found.results and name not in named]
    if len(empty) == len(value.layers):
        first = next(one for one in value.layers.values() if isinstance(one, Results))
        return f"In every layer: {_OTHERS[Results](first, now, door)}"
    parts = []
    for name, found in value.layers.items():
        if name in empty:
            continue
        said = _said_results(found, now) if isinstance(found, SaidResults) else _OTHERS[type(found)](found, now, door)
        parts.append(f"## {name.capitalize()}\n{said}")
    return "\n\n".join([*parts, *([f"Nothing in {joined(empty)}."] if empty else [])])


def _ingested(value: Ingested, now: datetime) -> str:
    handle = f" [#{value.episode_id}]" if value.episode_id is not None else ""
    turns = amount(value.turns_ingested, "turn")
    return f"{turns} of {value.session_id} kept in {value.project}: {summary_outcome(value.distillation)}{handle}"


def _agent(one: AgentLine, now: datetime) -> str:
    counts = [amount(one.sessions, "session"), amount(one.memories, "memory")]
    counts += [amount(one.facts, "fact"), amount(one.episodes, "episode"), amount(one.turns, "turn")]
    return f"{one.id or '(no name)'} {age(one.last_active_at, now)}: {', '.join(counts)}"


_OTHERS: SpelledWords = {
    Results: lambda value, now, door: search.results(value, now=now, door=door),
    DocumentResults: documents.SPELLED[DocumentResults],
}


def _flushed(value: Flushed, now: datetime) -> str:
    if value.busy:
        return "Another process is writing summaries. Run it again in a minute."
    lines = []
    for one in value.sessions:
        made = f" [#{one.id}]" if one.id is not None else ""
        lines.append(
            f"{one.session_id} ({one.project}): {summary_outcome(one.result)}{made}, {amount(one.turns, 'message')}"
        )
    return "\n".join(lines) or "No session is waiting for a summary."


WORDS: Words = {
    Checkpoint: _checkpoint,
    CheckpointLine: lambda value, now: (
        f"Checkpoint {value.id} of session {value.session_id} in {value.project}: {value.size:,} bytes "
        f"({age(value.saved_at, now)})"
    ),
    SessionState: lambda value, now: f"Session {value.session.id} {value.event} in {value.session.project}",
    PromptSaved: lambda value, now: f"Prompt {_KEPT[value.outcome]} in {value.project}",
    CapturedLearnings: _captured,
    SessionLine: _session,
    KeptTurn: _turn,
    Prompt: lambda value, now: (
        f"{value.id} {filled((age(value.created_at, now), *whence(value.unchecked)))} {value.project}: "
        f"{one_line(value.content)}"
    ),
    SaidResults: _said_results,
    Ingested: _ingested,
    AgentLine: _agent,
    Flushed: _flushed,
}

SPELLED: SpelledWords = {
    Layered: _layered,
}
