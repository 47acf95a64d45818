"""What a type that nobody uses is usually called. Imported only where there is one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from engram_py.capture.topics import FAMILY_OF_TYPE
from engram_py.models.observation import TYPES

# What is longer is no word, and comparing a megabyte letter by letter takes seconds.
_TYPE_CHARS = 40
_A_SLIP = 0.85  # decison, bug-fix


def type_notes(types: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each type that is none of the usual ones and resembles one."""
    notes = []
    for asked in dict.fromkeys(one for one in types if len(one) <= _TYPE_CHARS):
        family = FAMILY_OF_TYPE.get(asked)
        near = [one for one in TYPES if family and FAMILY_OF_TYPE.get(one) == family]
        near = near or difflib.get_close_matches(asked, TYPES, n=1)
        if asked not in TYPES and near:
            notes.append(f"type:{asked} is not one of the usual types; did you mean type:{near[0]}?")
    return tuple(notes)


def misspelt(kind: str) -> tuple[str, ...]:
    """A sentence where ``kind`` is nearly one of the usual types: a search for that would not find it."""
    near = difflib.get_close_matches(kind[:_TYPE_CHARS], TYPES, n=1, cutoff=_A_SLIP) if kind not in TYPES else []
    return (f"kept as type {kind}; {near[0]} is the usual one, if that was meant",) if near else ()
