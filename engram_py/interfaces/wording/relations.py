"""The words of relations: verdicts, lists, counts, and what a scan found."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, amount, end
from engram_py.relations.values import Relation, RelationPage, RelationStats, Scanned


def _judged(value: Relation, now: datetime) -> str:
    if value.judgment_status == "pending":
        return f"{value.sync_id}: {_sentence(value, '?')}"
    return f"Judged {value.sync_id}: {_sentence(value, value.relation)}"


def _sentence(value: Relation, verb: str) -> str:
    source = end(value.source_observation, value.source_title)
    return f"{source} {verb} {end(value.target_observation, value.target_title)}"


def _page(value: RelationPage, now: datetime) -> str:
    if not value.relations:
        return "No relations"
    lines = [_line(one) for one in value.relations]
    more = value.total - value.offset - len(lines)
    return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])


def _line(one: Relation) -> str:
    verb = "may relate to" if one.judgment_status == "pending" else one.relation
    return f"{one.id} {one.sync_id} ({one.judgment_status}): {_sentence(one, verb)}"


def _stats(value: RelationStats, now: datetime) -> str:
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


def facts(value: Relation) -> str:
    """Return the facts of a verdict besides its ends, a line each."""
    names = ("reason", "evidence", "confidence", "marked_by_actor", "created_at")
    found = {name: getattr(value, name) for name in names}
    return "\n".join(f"{name.replace('_', ' ')}: {fact}" for name, fact in found.items() if fact is not None)


WORDS: Words = {Relation: _judged, RelationPage: _page, RelationStats: _stats, Scanned: _scanned}
