"""What a request asked for and did not get, in a header: Engram's answers have no place for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from itertools import accumulate
from typing import Any

from pydantic import BaseModel, BeforeValidator

from engram_py.interfaces.arguments import mended_names, unknown_names
from engram_py.interfaces.http.operations import LENIENT, Operation, Question
from engram_py.observations.arguments import clamp
from engram_py.recall.scope_filter import FILTERS

HEADER = "X-Engram-Notes"
MOST_BYTES = 2_000
_NOTE_CHARS, _VALUE_CHARS = 400, 40
_LEAST_BYTES = 420  # what a note in English never needs more of
# Every route takes it: it decides where the request stands.
_EVERYWHERE = ("cwd",)
SEARCH = "/search"

Notes = list[str]


def unread(found: Operation, query: Mapping[str, str], body: Mapping[str, Any]) -> Notes:
    """A sentence for each parameter and field that nobody knows, and for each value that meant the default instead."""
    model = found.model("query")
    known = {*(model.model_fields if model is not None else ()), *_EVERYWHERE}
    notes = _named(query, known, found, kind="parameter")
    notes += _unread_values(model, query) if model is not None else []
    fields = found.model("body")
    if fields is None:
        return notes
    notes += _named(body, set(fields.model_fields), found, kind="field")
    return notes + (mended_names(body) if issubclass(fields, Question) else [])


def _named(given: Mapping[str, Any], known: Collection[str], found: Operation, *, kind: str) -> Notes:
    filters = [one for one in given if found.path == SEARCH and one in FILTERS and one not in known]
    notes = unknown_names((one for one in given if one not in filters), known, kind=kind)
    words = "q" if kind == "parameter" else "query"
    return notes + [f"{one} was ignored: filters belong into {words}, as in {words}=... {one}:..." for one in filters]


def held(limit: int | None, default: int, most: int, notes: Notes) -> int:
    """How many to list: what was asked for, or the default; more than ``most`` is noted."""
    number, said = clamp("limit", limit or default, 1, most)
    notes += said
    return number


def header(notes: Notes) -> dict[str, str]:
    """The header that carries ``notes`` as a JSON list in ASCII: all of them, where need be shortened to their share,
    or the first ones where they are too many."""
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
    """The bytes of a note in the header, with the comma before the next: a letter that is not ASCII has six."""
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
