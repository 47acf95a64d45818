"""The words of relations: what an observation is to another, verdicts, and pairs that wait for one.
``[#12]`` is an observation wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engram_py.base.lazy import regex
from engram_py.base.text.normalize import visible
from engram_py.interfaces.wording.phrases import Words, amount, joined
from engram_py.memory.observations.values import Candidate, RelationNote, Saved
from engram_py.memory.relations.values import Relation, RelationPage, RelationStats, Scanned

if TYPE_CHECKING:
    from engram_py.guidance.guards.values import Found
    from engram_py.sharing.sync.git.memory_review import Contradiction, MemoryReview, ReviewedMemory

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
    """``[#12] "Use RS256" seems to contradict [#4] "Use HS256". Does the new one replace the old?``"""
    new, old = (f'[#{one.id}] "{one.title}"' for one in (saved, older))
    return f"{new} seems to contradict {old}. Does the new one replace the old?"


def _judged(value: Relation, now: datetime) -> str:
    if value.judgment_status == "pending":
        pair = _sentence(value, "may contradict")
        return f"{pair}. Give a verdict: `engram judge {value.sync_id} supersedes`."
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
    line += f"{amount(value.candidates_found, 'similar pair')}, {new} new"
    lines = [line + (f"; {value.inserted} saved, `engram judge` lists them" if not value.dry_run else "")]
    lines += ["Nothing was written. --apply saves the new pairs for a verdict."] if value.dry_run and new else []
    lines += ["There are more pairs than one run saves. Run it again."] if value.capped else []
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


# --- what a branch does to the memory, for a reviewer ---

_PART_NAMES = {"content": "text", "shown": "verdicts", "state": "engram's own lines (clock, pinned, dates)"}
_MENTION = regex(r"@[\w/-]+")
_MARKS = regex(r"([\\`*_{}\[\]<>#!|~])")
_WHY = {
    "title": "their titles are similar",
    "topic": "both have the same topic",
    "conflicts_with": "the new file says so",
}


def review(value: MemoryReview) -> list[str]:
    """Return what a range does to the memories, as Markdown for a reviewer."""
    counts = {"adds": value.added, "changes": value.changed, "removes": value.removed}
    said = [f"{verb} {amount(len(some), 'memory')}" for verb, some in counts.items() if some]
    lines = [f"This branch {joined(said)}." if said else "This branch changes no memory."]
    for verb, some in counts.items():
        lines += ["", f"**{verb.capitalize()}**", *map(_reviewed, some)] if some else []
    lines += _section("Replaces", [f"- {_ends(one, 'replaces')}" for one in value.replaced])
    lines += _section("May contradict", [f"- {_ends(one)}: {_WHY[one.why]}" for one in value.contradictions])
    if value.contradictions:
        lines.append(
            "\nIf the new memory replaces the old one, write `supersedes: [ID]` into its front matter, with the id "
            "shown here, or remove the old file."
        )
    broken = value.code.found if value.code is not None else ()
    lines += _section("The code of this branch violates", [f"- {_place(one)}" for one in broken])
    return lines + _section(
        "Cannot be read", [f"- {_code(one.chunk)}: {_said(one.reason)}" for one in value.unreadable]
    )


def review_annotations(value: MemoryReview) -> str:
    """Return what a reviewer should not miss as GitHub's annotations, a line each."""
    from engram_py.interfaces.wording.acting import escaped, github

    lines = [
        f"::warning file={escaped(one.file, ':,')},title=engram::{escaped(f'may contradict {_ends(one)}')}"
        for one in value.contradictions
    ]
    lines += [
        f"::error file=.engram/memories/{escaped(one.chunk, ':,')},title=engram::{escaped(one.reason)}"
        for one in value.unreadable
    ]
    return "\n".join([*lines, *([github(value.code)] if value.code is not None and value.code.found else [])])


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"**{title}**", *lines] if lines else []


def _reviewed(one: ReviewedMemory) -> str:
    parts = joined([_PART_NAMES.get(part, part) for part in one.parts])
    guard = " with a guard" if one.guarded and not one.parts else ""
    lines = [f"- {_said(one.type)} “{_said(one.title)}”{guard}{f': {parts}' if parts else ''} ({_code(one.file)})"]
    lines += [f"  - was: {_said(one.was)}"] if one.was else []
    lines += [f"  - now: {_said(one.now)}"] if one.now and one.was else [f"  - {_said(one.now)}"] if one.now else []
    return "\n".join(lines)


def _ends(one: Contradiction, verb: str = "and") -> str:
    other = f"{_said(one.other_type)} “{_said(one.other_title)}” ({_code(one.other_file)}, {one.other_id})"
    return f"“{_said(one.title)}” ({_code(one.file)}) {verb} {other}"


def _said(text: str) -> str:
    """Return a text of a branch as a line of Markdown in which nothing of it is a mark, a link or a mention."""
    line = " ".join(visible(text).split())
    return _MENTION.sub(r"`\g<0>`", _MARKS.sub(r"\\\g<0>", line))


def _code(text: str) -> str:
    return f"`{' '.join(visible(text).split()).replace('`', '')}`"


def _place(one: Found) -> str:
    where = f"{_code(one.file)}{f' line {one.line}' if one.line else ''}" if one.file else "the branch"
    return f"{_said(one.type)} “{_said(one.title)}” at {where}{f'; use {_said(one.use)}' if one.use else ''}"
