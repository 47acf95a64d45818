"""What a caller named that nobody knows, said alike by every door that takes arguments by name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

MOST_UNKNOWN = 5
_NAME_CHARS = 60


def unknown_names(given: Iterable[str], known: Collection[str], *, kind: str = "argument") -> list[str]:
    """A sentence for each name of ``given`` that is not ``known``, with the one it resembles."""
    strange = [name[:_NAME_CHARS] for name in given if name not in known]
    notes = []
    for name in strange[:MOST_UNKNOWN]:
        near = difflib.get_close_matches(name, sorted(known), n=1)
        resembles = f', did you mean "{near[0]}"?' if near else ""
        notes.append(f'unknown {kind} "{name}" was ignored{resembles}')
    if len(strange) > MOST_UNKNOWN:
        notes.append(f"{len(strange) - MOST_UNKNOWN} more unknown {kind}s were ignored")
    return notes
