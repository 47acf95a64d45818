"""Notes about an answer in a header, because Engram's answers have no place for them.

They tell which parts of a request were ignored, and what to know of a hit before it is believed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel, BeforeValidator

from engram_py.anchors.values import AnchorState
from engram_py.dataclass import replace
from engram_py.interfaces.arguments import mended_names, unknown_names
from engram_py.interfaces.http.parameters import LENIENT
from engram_py.interfaces.http.routing import Operation
from engram_py.interfaces.wording.phrases import relation
from engram_py.observations.arguments import clamp
from engram_py.recall.scope_filter import FILTERS
from engram_py.recall.values import Hit

HEADER = "X-Engram-Notes"
MOST_BYTES = 2_000
_NOTE_CHARS, _VALUE_CHARS = 400, 40
_LEAST_BYTES = 420  # what a note in English never needs more of
SEARCH = "/search"
# Of an answer, of a hit, and letters of one name: the header holds 2,000 bytes, and other notes come first.
_MOST_HITS, _MOST_SAID, _NAME_CHARS = 8, 3, 60

Notes = list[str]


def unread(found: Operation, given: Mapping[str, Mapping[str, Any]]) -> Notes:
    """Return a sentence for each parameter and field that nobody knows, and for each value that meant the default."""
    query, model = given["query"], found.models["query"]
    notes = _unknown(query, model, found, kind="parameter") + _unread_values(model, query)
    if "body" not in found.models:
        return notes
    notes += _unknown(given["body"], found.models["body"], found, kind="field")
    return notes + (mended_names(given["body"]) if found.lenient else [])


def _unknown(given: Mapping[str, Any], model: type[BaseModel], found: Operation, *, kind: str) -> Notes:
    known = {field.alias or name for name, field in model.model_fields.items()}
    filters = [one for one in given if found.path == SEARCH and one in FILTERS and one not in known]
    notes = unknown_names((one for one in given if one not in filters), known, kind=kind)
    words = "q" if kind == "parameter" else "query"
    return notes + [f"{one} was ignored: filters belong into {words}, as in {words}=... {one}:..." for one in filters]


def limited(limit: int | None, default: int, most: int, notes: Notes) -> int:
    """Return how many to list: as asked for, or the default; a number above ``most`` is noted."""
    number, said = clamp("limit", limit or default, 1, most)
    notes += said
    return number


def header(notes: Notes) -> dict[str, str]:
    """Return the header that carries ``notes`` as a JSON list in ASCII.

    Long notes are shortened to their share of the header; of too many the first ones are kept.
    """
    kept: list[str] = []
    room = MOST_BYTES - 2
    for number, note in enumerate(notes):
        told = " ".join(note.split())
        told = told if len(told) <= _NOTE_CHARS else told[: _NOTE_CHARS - 1] + "…"
        told = _cut(told, max(room // (len(notes) - number), _LEAST_BYTES))
        room -= _size(told)
        if room < 0:
            break
        kept.append(told)
    return {HEADER: json.dumps(kept)} if kept else {}


def _size(text: str) -> int:
    """Return the bytes of a note in the header, with the comma before the next: a letter that is not ASCII has six."""
    return len(json.dumps(text)) + 2


def _cut(text: str, most: int) -> str:
    if _size(text) <= most:
        return text
    ends = accumulate((len(json.dumps(letter)) - 2 for letter in text), initial=_size("…"))
    return text[: sum(end <= most for end in ends) - 1] + "…"


def _unread_values(model: type[BaseModel], given: Mapping[str, str]) -> Notes:
    notes = []
    for name, value in given.items():
        if name not in model.model_fields or not value.strip():
            continue
        for reader in model.model_fields[name].metadata:
            expected = LENIENT.get(reader.func) if isinstance(reader, BeforeValidator) else None
            if expected is not None and reader.func(value) is None:
                notes.append(f"{name} {value[:_VALUE_CHARS]!r} is not {expected}; the default was used")
    return notes


def hit_notes(hits: Sequence[Hit]) -> Notes:
    """Return a sentence for each hit with changed files or relations: ``#49: session.ts changed; supersedes #36``."""
    told = [f"#{hit.id}: {'; '.join(said)}" for hit in hits if (said := _shortened([*_said(hit)]))]
    more = len(told) - _MOST_HITS
    rest = [f"and {more} more hits to know such things of: response_format=json tells them"] if more > 0 else []
    return [*told[:_MOST_HITS], *rest]


def _said(hit: Hit) -> Iterator[str]:
    yield from (_file(state) for state in hit.anchors if state.state in ("changed", "moved", "gone"))
    yield from (_file(state) for state in hit.anchors if state.unreadable)
    if hit.branch:
        yield f"saved on branch {hit.branch[:_NAME_CHARS]}, which is not checked out"
    old = hit.instead_of
    if old is not None:
        yield f"replaced #{old.id}"
    if hit.lifecycle != "active":
        yield hit.lifecycle
    for note in hit.relations:
        if note.id not in (None, old and old.id) and not note.deleted:
            yield relation(replace(note, title="")).replace("[", "").replace("]", "")


def _file(state: AnchorState) -> str:
    from engram_py.interfaces.wording.anchors import anchor

    elsewhere = state.now_path not in (None, state.path)  # then it is named whole, and so is what it was
    name = state.path if elsewhere else PurePosixPath(state.path).name[:_NAME_CHARS]
    return f"{name} {anchor(state, with_path=False)}"


def _shortened(said: list[str]) -> list[str]:
    said = list(dict.fromkeys(said))
    more = len(said) - _MOST_SAID
    return [*said[:_MOST_SAID], *([f"and {more} more"] if more > 0 else [])]
