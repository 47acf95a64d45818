"""The words of relations: what an observation is to another, verdicts, and pairs that wait for one.
``[#12]`` is an observation wherever it is shown.
"""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, amount
from engram_py.observations.values import Candidate, RelationNote, Saved
from engram_py.relations.values import Relation, RelationPage, RelationStats, Scanned

_RELATED = {
    "related": "related to",
    "compatible": "compatible with",
    "conflicts": "conflicts with",
    "contested": "may contradict",
}


def end(observation: int | None, title: str | None) -> str:
    """Return one end of a relation: ``[#49] Its title``; without a handle when it was destroyed."""
    if observation is not None:
        return f"[#{observation}] {title}"
    return f"{title} (deleted)" if title else "a deleted observation"


def relation(note: RelationNote) -> str:
    """``superseded_by [#49] Its title``."""
    handle = f"[#{note.id}]" if note.id is not None else "a deleted observation"
    gone = " (deleted)" if note.deleted and note.id else ""
    return f"{_RELATED.get(note.label, note.label)} {handle} {note.title}".rstrip() + gone


def replaces(saved: Saved, older: Candidate) -> str:
    """``[#12] "Use RS256" seems to contradict [#4] "Use HS256". Does it replace that?``"""
    new, old = (f'[#{one.id}] "{one.title}"' for one in (saved, older))
    return f"{new} seems to contradict {old}. Does it replace that?"


def _judged(value: Relation, now: datetime) -> str:
    if value.judgment_status == "pending":
        return f"{value.sync_id}: {_sentence(value, '?')}"
    return f"Judged {value.sync_id}: {_sentence(value, value.relation)}"


def _sentence(value: Relation, verb: str) -> str:
    source = end(value.source_observation, value.source_title)
    return f"{source} {verb} {end(value.target_observation, value.target_title)}"


def _page(value: RelationPage, now: datetime) -> str:
    return "\n".join(_relation_line(one) for one in value.relations) or "No relations"


def _relation_line(one: Relation) -> str:
    verb = "may relate to" if one.judgment_status == "pending" else one.relation
    return f"{one.id} {one.sync_id} ({one.judgment_status}): {_sentence(one, verb)}"


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


def facts(value: Relation) -> str:
    """Return the facts of a verdict besides its ends, a line each."""
    names = ("reason", "evidence", "confidence", "marked_by_actor", "created_at")
    found = {name: getattr(value, name) for name in names}
    return "\n".join(f"{name.replace('_', ' ')}: {fact}" for name, fact in found.items() if fact is not None)


WORDS: Words = {
    Relation: _judged,
    RelationPage: _page,
    RelationStats: _relation_stats,
    Scanned: _scanned,
}
