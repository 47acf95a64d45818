"""The words of what surrounds observations: sessions, prompts, verdicts, projects, lists, context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import singledispatch
from typing import Any

from engram_py.context.values import Context
from engram_py.distill.values import Distilled, Flushed
from engram_py.interfaces.amounts import amount
from engram_py.interfaces.context_text import context_text, last_active
from engram_py.interfaces.wording import age, clock, notes, text
from engram_py.observations.listing import (
    Listing,
    RelationLine,
    RelationPage,
    RelationStats,
    Scanned,
    Stats,
    Suggestion,
)
from engram_py.observations.relation_values import Judged
from engram_py.observations.values import ReviewLine
from engram_py.projects.values import Alike, CurrentProject, Merged, ProjectLine, Pruned, Renamed
from engram_py.sessions.values import Captured, KeptTurn, Prompt, PromptSaved, SessionLine, SessionState

_EMPTY = {
    "due": "Nothing is due for review",
    "pending": "No relation waits for a verdict",
    "alike": "No two projects have names alike",
    "merged": "Nothing was merged",
}


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


def _flushed(value: Flushed, now: datetime) -> str:
    if value.busy:
        return "Another process distills just now; ask again in a minute"
    return "\n".join(map(_distilled, value.sessions)) or "No session has turns that wait"


def _distilled(one: Distilled) -> str:
    made = f" [#{one.id}]" if one.id is not None else ""
    return f"{one.session_id} ({one.project}): {one.result}{made}, {amount(one.turns, 'turn')}"


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
    moved = _counted(value.observations, value.sessions, value.prompts)
    line = f"Merged {', '.join(value.merged)} into {value.into}: {moved}; the old names go on working"
    lines = [line] + ([f"{value.folded_topics} topic(s) held by both keep both texts"] if value.folded_topics else [])
    return "\n".join([*lines, *notes(value.warnings)])


def _counted(observations: int, sessions: int, prompts: int) -> str:
    return f"{amount(observations, 'observation')}, {amount(sessions, 'session')}, {amount(prompts, 'prompt')}"


def _renamed(value: Renamed, now: datetime) -> str:
    return f"{value.project} is called {value.name} now; the old name goes on working"


def _alike(value: Alike, now: datetime) -> str:
    return f"{', '.join(value.names)} may be {value.into}"


def _pruned(value: Pruned, now: datetime) -> str:
    if not value.names:
        return "No project is empty."
    verb = "Would remove" if value.dry_run else "Removed"
    return f"{verb} {amount(len(value.names), 'empty project')}: {', '.join(value.names)}"


def _relations(value: RelationPage, now: datetime) -> str:
    if not value.relations:
        return "No relations"
    lines = [_relation(one) for one in value.relations]
    more = value.total - value.offset - len(lines)
    return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])


def _relation(one: RelationLine) -> str:
    verb = "may relate to" if one.judgment_status == "pending" else one.relation
    ends = [
        f"[#{row}] {title}" if row is not None else "a destroyed observation"
        for row, title in ((one.source_observation, one.source_title), (one.target_observation, one.target_title))
    ]
    return f"{one.id} {one.sync_id} ({one.judgment_status}): {ends[0]} {verb} {ends[1]}"


def _relation_stats(value: RelationStats, now: datetime) -> str:
    found = {"by verdict": value.by_relation, "by state": value.by_judgment_status}
    lines = [f"{name}: {', '.join(f'{key} {n}' for key, n in one.items()) or 'none'}" for name, one in found.items()]
    return "\n".join(lines)


def _scanned(value: Scanned, now: datetime) -> str:
    new = value.candidates_found - value.already_related
    line = f"Compared {amount(value.inspected, 'observation')}: "
    line += f"{amount(value.candidates_found, 'pair')} alike, {new} new"
    lines = [line + (f"; {value.inserted} kept for a verdict" if not value.dry_run else "")]
    lines += ["Nothing was written; --apply keeps the new ones for a verdict."] if value.dry_run and new else []
    lines += ["There were more pairs than may be kept at once; run it again."] if value.capped else []
    lines += [f"next page: --cursor {value.next_cursor}"] if value.next_cursor is not None else []
    return "\n".join(lines)


def _stats(value: Stats, now: datetime) -> str:
    most = value.projects[:8]
    more = f" +{len(value.projects) - 8} more" if len(value.projects) > 8 else ""
    types = ", ".join(f"{name} {count}" for name, count in list(value.types.items())[:10])
    return "\n".join(
        [
            f"{_counted(value.total_observations, value.total_sessions, value.total_prompts)}, "
            f"{amount(value.total_relations, 'relation')}",
            f"{amount(value.versions, 'earlier version')}, {value.deleted_observations} soft-deleted"
            + (f", {amount(value.queued_mutations, 'change')} recorded for sync" if value.syncs else ""),
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
    return f"{item.name}: {amount(item.observations, 'observation')}, {amount(item.sessions, 'session')}{active}{also}"


WORDS: dict[type, Callable[[Any, datetime], str]] = {
    SessionState: _session_state,
    PromptSaved: _prompt_saved,
    Captured: _captured,
    Flushed: _flushed,
    Judged: _judged,
    Suggestion: _suggestion,
    CurrentProject: _current,
    Merged: _merged,
    Renamed: _renamed,
    Alike: _alike,
    Pruned: _pruned,
    RelationPage: _relations,
    RelationStats: _relation_stats,
    Scanned: _scanned,
    Stats: _stats,
    Context: _context,
    Listing: _listing,
}
