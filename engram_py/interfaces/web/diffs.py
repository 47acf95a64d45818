"""The lines that tell two texts apart."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal

from engram_py.dataclass import dataclass
from engram_py.observations.relation_values import Version

# Comparing takes up to the product of both, and a text may be fifty thousand lines of one letter.
MOST_LINES = 600
_AROUND = 2

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


def diff(old: str, new: str) -> tuple[DiffLine, ...]:
    """The lines that differ, with two around them; of very long texts the old one whole, then the new one."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) > MOST_LINES or len(after) > MOST_LINES:
        return tuple([DiffLine("gone", line) for line in before] + [DiffLine("new", line) for line in after])
    found: list[DiffLine] = []
    for number, group in enumerate(SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND)):
        if number:
            found.append(DiffLine("skipped", "…"))
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                found += [DiffLine("same", line) for line in before[start:end]]
            else:
                found += [DiffLine("gone", line) for line in before[start:end]]
                found += [DiffLine("new", line) for line in after[new_start:new_end]]
    return tuple(found)


def history(now: Version, older: list[Version]) -> list[Step]:
    """Each older text, newest first, with its difference from the text that replaced it."""
    return [
        Step(old.version, old.created_at, old.title, new.title, diff(old.content, new.content))
        for new, old in pairwise([now, *older])
    ]
