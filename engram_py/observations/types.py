"""What a type that nobody uses is usually called. Imported only where there is one."""

from __future__ import annotations

from collections.abc import Iterable

from engram_py.observations.topic_keys import FAMILY_OF_TYPE
from engram_py.observations.values import TYPES
from engram_py.text.spelling import distance

# What is longer is no word, and comparing a megabyte letter by letter takes seconds.
_TYPE_CHARS = 40
_MOST_SLIPS = 2
_LEAST_LETTERS = 6  # `feat` is no `fact`
# Other names of one type, and words of their own that are spelt nearly as one of them.
_ALSO_CALLED = {"bug": "bugfix", "fix": "bugfix", "bugfix": "bugfix"}
_OF_THEIR_OWN = frozenset({"reference", "references", "police", "leaning", "massive"})


def type_notes(types: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each type that is none of the usual ones and resembles one."""
    notes = []
    for asked in dict.fromkeys(one for one in types if len(one) <= _TYPE_CHARS):
        family = FAMILY_OF_TYPE.get(asked)
        near = [one for one in TYPES if family and FAMILY_OF_TYPE.get(one) == family]
        near = near or _nearly(asked)
        if asked not in TYPES and near:
            notes.append(f"type:{asked} is not one of the usual types; did you mean type:{near[0]}?")
    return tuple(notes)


def misspelt(kind: str) -> tuple[str, ...]:
    """A sentence where ``kind`` is nearly one of the usual types: a search for that would not find it."""
    near = _nearly(kind) if kind not in TYPES and len(kind) <= _TYPE_CHARS else []
    return (f"kept as type {kind}; {near[0]} is the usual one, if that was meant",) if near else ()


def _nearly(kind: str) -> list[str]:
    """The usual type that is meant by another name of it, or by a word that is a slip or two away."""
    plain = kind.replace("-", "").replace("_", "").replace(" ", "")
    if plain in _ALSO_CALLED:
        return [_ALSO_CALLED[plain]]
    if len(plain) < _LEAST_LETTERS or kind in _OF_THEIR_OWN:
        return []
    slips = {name: distance(kind, name, _MOST_SLIPS) for name in TYPES}
    nearest = min(TYPES, key=slips.__getitem__)
    return [nearest] if slips[nearest] <= _MOST_SLIPS else []
