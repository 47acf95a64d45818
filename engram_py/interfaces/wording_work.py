"""The words of what surrounds observations: sessions, prompts, verdicts, projects, lists, context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import singledispatch
from typing import Any

from engram_py.interfaces.context_text import context_text, last_active
from engram_py.interfaces.wording import age, clock, notes, text
from engram_py.models.amounts import amount
from engram_py.models.context import Context, Stats, Suggestion
from engram_py.models.listing import Listing
from engram_py.models.observation import ReviewLine
from engram_py.models.project import CurrentProject, Merged, ProjectLine
from engram_py.models.relation import Judged
from engram_py.models.session import Captured, Prompt, PromptSaved, SessionLine, SessionState
from engram_py.models.turn import KeptTurn

_EMPTY = {"due": "Nothing is due for review", "pending": "No relation waits for a verdict"}


def _session_state(value: SessionState, now: datetime) -> str:
    return "\n".join([f"Session {value.session.id} {value.event} in {value.session.project}", *notes(value.warnings)])


def _prompt_saved(value: PromptSaved, now: datetime) -> str:
    verb = "Prompt kept" if value.outcome == "added" else "Prompt known already"
    return "\n".join([f"{verb} in {value.project}", *notes(value.warnings)])


def _captured(value: Captured, now: datetime) -> str:
    if not value.extracted:
        return "No learnings found: list them under a heading such as ## Key Learnings"
    ids = " ".join(f"[#{row}]" for row in value.ids)
    line = f"Learnings: {value.extracted} found, {value.saved} new, {value.duplicates} known already {ids}"
    return "\n".join([line.rstrip(), *notes(value.warnings)])


def _judged(value: Judged, now: datetime) -> str:
    ends = [
        f"[#{row}] {title}" if row is not None else f"{title} (deleted)"
        for row, title in (
            (value.source_observation, value.source_title),
            (value.target_observation, value.target_title),
        )
    ]
    if value.relation.judgment_status == "pending":
        return f"{value.relation.sync_id}: {ends[0]} ? {ends[1]}"
    return f"Judged {value.relation.sync_id}: {ends[0]} {value.relation.relation} {ends[1]}"


def _suggestion(value: Suggestion, now: datetime) -> str:
    if value.existing_id is None:
        return value.topic_key
    return f'{value.topic_key} (holds [#{value.existing_id}] "{value.existing_title}": saving to it revises that)'


def _current(value: CurrentProject, now: datetime) -> str:
    name = value.project or "no single project"
    lines = [f"{name} (from {value.project_source}: {value.project_path})"]
    facts = {"remote": value.remote, "branch": value.branch, "candidates": ", ".join(value.candidates)}
    lines += [f"{key}: {fact}" for key, fact in facts.items() if fact]
    lines += ["no memory of it yet"] if value.project and not value.known else []
    lines += [f"hint: {value.hint}"] if value.hint else []
    return "\n".join([*lines, *notes(value.warnings)])


def _merged(value: Merged, now: datetime) -> str:
    moved = f"{value.observations} observations, {value.sessions} sessions, {value.prompts} prompts"
    line = f"Merged {', '.join(value.merged)} into {value.into}: {moved}; the old names go on working"
    lines = [line] + ([f"{value.folded_topics} topic(s) held by both keep both texts"] if value.folded_topics else [])
    return "\n".join([*lines, *notes(value.warnings)])


def _stats(value: Stats, now: datetime) -> str:
    most = value.projects[:8]
    more = f" +{len(value.projects) - 8} more" if len(value.projects) > 8 else ""
    types = ", ".join(f"{name} {count}" for name, count in list(value.types.items())[:10])
    return "\n".join(
        [
            f"{value.total_observations} observations, {value.total_sessions} sessions, {value.total_prompts} prompts, "
            f"{value.total_relations} relations",
            f"{amount(value.versions, 'earlier version')}, {value.deleted_observations} soft-deleted, "
            f"{value.queued_mutations} changes queued for sync",
            f"types: {types or 'none'}",
            f"projects: {', '.join(most) or 'none'}{more}",
            f"{value.database_path}: {value.database_bytes / 1024:,.0f} KB",
        ]
    )


def _context(value: Context, now: datetime) -> str:
    return context_text(value, now)


def _listing(value: Listing, now: datetime) -> str:
    if not value.items:
        return "\n".join([_EMPTY.get(value.name, f"No {value.name}"), *notes(value.warnings)])
    return "\n".join([*(line(item, now) for item in value.items), *notes(value.warnings)])


@singledispatch
def line(item: object, now: datetime) -> str:
    """One item of a list, on one line."""
    return text(item, now)


@line.register
def _session_line(item: SessionLine, now: datetime) -> str:
    state = "open" if item.ended_at is None else "ended"
    summary = " ".join((item.summary or "").split())[:200]
    agent = f" {item.agent}" if item.agent else ""
    head = f"{item.id} {item.project}{agent} {last_active(item, now)}, {state}"
    return f"{head} [{amount(item.observations, 'observation')}] {summary}".rstrip()


@line.register
def _turn_line(item: KeptTurn, now: datetime) -> str:
    who = f"{item.role} ({item.agent})" if item.agent else item.role
    return f"{age(item.said_at or item.read_at, now)} {item.session_id} {who}: {' '.join(item.content.split())[:200]}"


@line.register
def _prompt_line(item: Prompt, now: datetime) -> str:
    return f"{item.id} {age(item.created_at, now)} {item.project}: {' '.join(item.content.split())[:200]}"


@line.register
def _review_line(item: ReviewLine, now: datetime) -> str:
    return f"[#{item.id}] {item.title} ({item.type}, {item.project}, due {clock(item.review_after, now, '%Y-%m-%d')})"


@line.register
def _project_line(item: ProjectLine, now: datetime) -> str:
    also = f" (also {', '.join(item.aliases)})" if item.aliases else ""
    active = f", last active: {age(item.last_activity_at, now)}" if item.last_activity_at else ""
    return f"{item.name}: {item.observations} observations, {item.sessions} sessions{active}{also}"


WORDS: dict[type, Callable[[Any, datetime], str]] = {
    SessionState: _session_state,
    PromptSaved: _prompt_saved,
    Captured: _captured,
    Judged: _judged,
    Suggestion: _suggestion,
    CurrentProject: _current,
    Merged: _merged,
    Stats: _stats,
    Context: _context,
    Listing: _listing,
}
