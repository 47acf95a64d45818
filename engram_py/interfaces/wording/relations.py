"""The words of relations: verdicts, lists, counts, and what a scan found."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, amount, end
from engram_py.observations.listing import RelationLine, RelationPage, RelationStats, Scanned
from engram_py.observations.relation_values import Judged


def _judged(value: Judged, now: datetime) -> str:
    row = value.relation
    source, target = (
        end(value.source_observation, value.source_title),
        end(value.target_observation, value.target_title),
    )
    if row.judgment_status == "pending":
        return f"{row.sync_id}: {source} ? {target}"
    return f"Judged {row.sync_id}: {source} {row.relation} {target}"


def _page(value: RelationPage, now: datetime) -> str:
    if not value.relations:
        return "No relations"
    lines = [_line(one) for one in value.relations]
    more = value.total - value.offset - len(lines)
    return "\n".join([*lines, *([f"and {more:,} more"] if more > 0 else [])])


def _line(one: RelationLine) -> str:
    verb = "may relate to" if one.judgment_status == "pending" else one.relation
    source, target = end(one.source_observation, one.source_title), end(one.target_observation, one.target_title)
    return f"{one.id} {one.sync_id} ({one.judgment_status}): {source} {verb} {target}"


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


def facts(value: Judged) -> str:
    """What is known of a verdict besides its ends, a line each."""
    names = ("reason", "evidence", "confidence", "marked_by_actor", "created_at")
    found = {name: getattr(value.relation, name) for name in names}
    return "\n".join(f"{name.replace('_', ' ')}: {fact}" for name, fact in found.items() if fact is not None)


WORDS: Words = {Judged: _judged, RelationPage: _page, RelationStats: _stats, Scanned: _scanned}
