"""What changed in a memory: the lines that tell two of its texts apart, and what became of its files."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Literal

from engram_py.anchors.values import AnchorState
from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.files import is_folder
from engram_py.interfaces.wording.anchors import anchor, place
from engram_py.observations.values import Detail, Observation
from engram_py.relations.values import Version
from engram_py.sessions import table as session_table

# Comparing takes up to the product of both, and a text may be fifty thousand lines of one letter.
MOST_LINES = 600
_AROUND = 2
_FILE_LINES = 400

Kind = Literal["same", "gone", "new", "skipped"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A text that an observation had, with what the one after it changed."""

    version: int
    created_at: str
    title: str
    next_title: str
    lines: tuple[DiffLine, ...]


def diff(old: str, new: str, *, span: tuple[int, int] | None = None) -> tuple[DiffLine, ...]:
    """Return the lines that differ, with two around them; of very long changes the old text whole, then the new one.

    ``span`` keeps the changes of these lines of the old text alone, from the first to the last, counted from 1.
    """
    before, after = _lines(old), _lines(new)
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    start, spared = max(0, head - _AROUND), max(0, tail - _AROUND)
    before, after = before[start : len(before) - spared], after[start : len(after) - spared]
    if len(before) > MOST_LINES or len(after) > MOST_LINES:
        return tuple([DiffLine("gone", line) for line in before] + [DiffLine("new", line) for line in after])
    found: list[DiffLine] = []
    for group in SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND):
        if span is not None and not any(_touches(code, span, start) for code in group):
            continue
        if found:
            found.append(DiffLine("skipped", "…"))
        for kind, first, end, new_first, new_end in group:
            if kind == "equal":
                found += [DiffLine("same", line) for line in before[first:end]]
            else:
                found += [DiffLine("gone", line) for line in before[first:end]]
                found += [DiffLine("new", line) for line in after[new_first:new_end]]
    return tuple(found)


def _lines(text: str) -> list[str]:
    """Return the lines as an editor counts them."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return plain.removesuffix("\n").split("\n") if plain else []


def _alike(one: list[str], other: list[str]) -> int:
    """Return how many lines both begin with."""
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _touches(code: tuple[str, int, int, int, int], span: tuple[int, int], start: int) -> bool:
    """Return whether a change is within the span or cuts it; ``start`` lines were left out before it."""
    kind, first, end = code[0], code[1] + start, code[2] + start
    return kind != "equal" and first < span[1] and end > span[0] - 1


def history(now: Version, older: list[Version]) -> list[Step]:
    """Return each older text, newest first, with its difference from the text that replaced it."""
    return [
        Step(old.version, old.created_at, old.title, new.title, diff(old.content, new.content))
        for new, old in pairwise([now, *older])
    ]


@dataclass(frozen=True, slots=True)
class File:
    """A file with its state, in words too, how it changed since, and the reason if that cannot be shown."""

    state: AnchorState
    said: str
    changed: Sequence[DiffLine]
    why: str


def files_of(app: Engram, detail: Detail) -> list[File]:
    texts = {one.state: one for one in app.anchors.texts(detail.observation, detail.anchors)}
    found = []
    for state in detail.anchors:
        one = texts.get(state)
        changed = diff(one.before, one.after, span=one.span) if one is not None and not one.why else ()
        said = f"{place(state.path, state.start, state.end)} unchanged" if state.state == "fresh" else anchor(state)
        found.append(File(state, said, changed[:_FILE_LINES], one.why if one is not None else ""))
    return found


def not_here(app: Engram, row: Observation) -> str:
    """Return why the files of the observation cannot be looked at on this machine; empty where they may be."""
    session = session_table.by_id(app.store, row.session_id)
    if session is None or session_table.arrived(app.store, row.session_id):
        return "It was saved on another machine."
    gone = session.directory and not is_folder(Path(session.directory))
    return f"The folder that it was saved in is not on this disk: {session.directory}" if gone else ""


def where_it_was_saved(app: Engram, row: Observation) -> Engram:
    """The memory as it stands in the folder of the session that saved the observation, where it is one of this
    machine's: its files are looked at there."""
    session = session_table.by_id(app.store, row.session_id)
    if session is None or not session.directory or session_table.arrived(app.store, row.session_id):
        return app
    folder = Path(session.directory)
    return app.standing_in(folder) if folder.is_absolute() and is_folder(folder) else app
