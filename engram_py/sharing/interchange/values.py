"""Engram's export file, versions 0.1.0 and 0.2.0, checked as a whole before anything of it is written.

Its rows are those of ``sharing/sync/replica/models.py``.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import Field, PrivateAttr, ValidationError, field_validator

from engram_py.base.files import open_regular, reason
from engram_py.base.lazy import regex
from engram_py.memory.privacy.signatures import row_signer
from engram_py.sharing.interchange.results import SIGNATURE, InvalidExportError, signed_export
from engram_py.sharing.sync.replica.models import (
    Lenient,
    ObservationIn,
    OwnAnchor,
    OwnObservation,
    OwnRelation,
    OwnSession,
    OwnTombstone,
    OwnVersion,
    PromptIn,
    PromptTombstoneIn,
    RelationIn,
    SessionIn,
    first_problem,
)

READABLE = ("0.1.0", "0.2.0")
_STREAM = "-"
_OWN = "engram_py"
_SHOWN_CHARS = 80
_MOST_NAMED = 20
_SURROGATE = regex(r"\\u[dD][89a-fA-F]")


class OwnBlock(Lenient):
    """Our block: observations, sessions, relations and anchors by key, edges of entities, versions, aliases and
    tombstones; ``unchecked`` names, by kind and key, whose the rows are that nobody trusted where it was written."""

    device: str = ""
    observations: dict[str, OwnObservation] = Field(default_factory=dict)
    sessions: dict[str, OwnSession] = Field(default_factory=dict)
    relations: dict[str, OwnRelation] = Field(default_factory=dict)
    edges: list[RelationIn] = Field(default_factory=list)
    versions: list[OwnVersion] = Field(default_factory=list)
    anchors: dict[str, list[OwnAnchor]] = Field(default_factory=dict)
    aliases: dict[str, str] = Field(default_factory=dict)
    tombstones: list[OwnTombstone] = Field(default_factory=list)
    unchecked: dict[str, dict[str, str]] = Field(default_factory=dict)


LISTS = ("sessions", "observations", "prompts", "relations", "prompt_tombstones")


class ExportIn(Lenient):
    version: str = ""
    exported_at: str | None = None
    sessions: list[SessionIn] = Field(default_factory=list)
    observations: list[ObservationIn] = Field(default_factory=list)
    prompts: list[PromptIn] = Field(default_factory=list)
    relations: list[RelationIn] = Field(default_factory=list)
    prompt_tombstones: list[PromptTombstoneIn] = Field(default_factory=list)
    engram_py: OwnBlock = Field(default_factory=OwnBlock)
    # Rows that could not be read, by kind and reason.
    _left_out: Counter[tuple[str, str]] = PrivateAttr(default_factory=Counter)
    _signed_by: str = PrivateAttr(default="")

    @property
    def left_out(self) -> Counter[tuple[str, str]]:
        return self._left_out

    @property
    def signed_by(self) -> str:
        """The key of the person who wrote the export, empty where none signed it."""
        return self._signed_by

    @property
    def is_foreign(self) -> bool:
        """Return whether there are rows and none of them has a field of ours."""
        rows = [row for name in LISTS for row in getattr(self, name)]
        return bool(rows or self._left_out) and not any(row.model_fields_set for row in rows)

    @field_validator(*LISTS, mode="before")
    @classmethod
    def _null_is_empty(cls, value: Any) -> Any:
        return [] if value is None else value  # Go writes an empty list as null


# --- reading a file ---------------------------------------------------------------------------------------------


def read_export(source: Path | BinaryIO) -> ExportIn:
    """Return the export in a file or an open stream. A row of wrong types is left out, and counted with its reason.

    Raises InvalidExportError: it cannot be read, is not JSON, another version, or no export.
    """
    name = name_of(source)
    values = _json_object(source, name)
    version = values.get("version") or ""
    if version and version not in READABLE:
        shown = repr(version)[:_SHOWN_CHARS]
        known = f"version {shown} is not one of {', '.join(READABLE)}"
        raise InvalidExportError(name, known, foreign=values.keys().isdisjoint((*LISTS, _OWN)))
    if values.keys().isdisjoint((*LISTS, _OWN)):
        raise InvalidExportError(name, f"it has none of the lists {', '.join(LISTS)}", foreign=True)
    signed_by = _signer(values)
    left_out: Counter[tuple[str, str]] = Counter()
    while True:
        try:
            document = ExportIn.model_validate(values)
        except ValidationError as exc:
            if not _without_rows(values, exc, left_out):
                raise InvalidExportError(name, first_problem(exc)) from exc
        else:
            document.left_out.update(left_out)
            if document.is_foreign:
                raise InvalidExportError(name, "no row in it has a name or a text of ours", foreign=True)
            document._signed_by = signed_by
            return document


def _signer(values: dict[str, Any]) -> str:
    block = values.get(_OWN)
    signature = block.get(SIGNATURE) if isinstance(block, dict) else None
    return row_signer(signed_export(values), signature) if signature else ""


def _without_rows(values: dict[str, Any], error: ValidationError, left_out: Counter[tuple[str, str]]) -> bool:
    """Take the rows that are wrong out of an export; return whether nothing else is."""
    places: dict[tuple[str | int, ...], str] = {}
    for problem in error.errors(include_url=False, include_input=False):
        place = problem["loc"]
        size = 3 if place[0] == _OWN else 2
        if len(place) < size or not isinstance(_at(values, place[: size - 1]), list):
            return False
        places.setdefault(place[:size], f"{'.'.join(map(str, place))[:_SHOWN_CHARS]}: {problem['msg']}")
    for place in sorted(places, key=str):
        _at(values, place[:-1])[place[-1]] = None
        left_out[str(place[-2]), places[place] if len(left_out) < _MOST_NAMED else "of a wrong type"] += 1
    for holder in {place[:-1] for place in places}:
        rows = _at(values, holder)
        rows[:] = [row for row in rows if row is not None]
    return bool(places)


def _at(values: Any, place: tuple[str | int, ...]) -> Any:
    for name in place:
        values = values[name]
    return values


def name_of(source: Path | BinaryIO) -> str:
    return str(source) if isinstance(source, Path) else _STREAM


def _json_object(source: Path | BinaryIO, name: str) -> dict[str, Any]:
    try:
        with open_regular(source) if isinstance(source, Path) else nullcontext(source) as file:
            raw = file.read()
        text = raw.decode("utf-8-sig")
        values = _mended(json.loads(text)) if _SURROGATE.search(text) else json.loads(text)
    except OSError as exc:
        raise InvalidExportError(name, reason(exc)) from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidExportError(name, f"it is not whole JSON ({exc})", foreign=True) from exc
    if not isinstance(values, dict):
        raise InvalidExportError(name, "it is not a JSON object", foreign=True)
    return values


def _mended(value: Any) -> Any:
    """Return a value with U+FFFD for each half of a character (``\\ud800``), which JSON can spell and no text holds."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
        case list():
            return [_mended(item) for item in value]
    return value
