"""Engram's export file, versions 0.1.0 and 0.2.0, checked as a whole before anything of it is written.

The models are lenient about missing fields and strict about types. What Engram does not know travels in the block
``engram_py``, which its importer ignores.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, create_model, field_validator

from engram_py.base.files import open_regular, reason
from engram_py.base.lazy import regex
from engram_py.memory.observations.table import OWN_COLUMNS, OWN_SOMETIMES
from engram_py.memory.privacy.signatures import row_signer
from engram_py.sharing.interchange.results import SIGNATURE, InvalidExportError, signed_export

READABLE = ("0.1.0", "0.2.0")
_STREAM = "-"
_OWN = "engram_py"
_SHOWN_CHARS = 80
_MOST_NAMED = 20
_SURROGATE = regex(r"\\u[dD][89a-fA-F]")

Status = Literal["pending", "judged", "orphaned", "ignored"]
Count = Annotated[int, Field(ge=-(2**53), le=2**53)]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Times(_Lenient):
    last_seen_at: str | None = None
    review_after: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    deleted_at: str | None = None


class SessionIn(_Lenient):
    id: str
    project: str | None = None
    ownership_mode: str | None = None
    directory: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    summary: str | None = None


class ObservationIn(_Times):
    id: object = None
    sync_id: str | None = None
    session_id: str | None = None
    type: str | None = None
    title: str | None = None
    content: str | None = None
    tool_name: str | None = None
    project: str | None = None
    scope: str | None = None
    topic_key: str | None = None
    org: str | None = None
    revision_count: Count = 1
    duplicate_count: Count = 1
    pinned: bool = False


class PromptIn(_Lenient):
    id: object = None
    sync_id: str | None = None
    session_id: str | None = None
    content: str | None = None
    project: str | None = None
    created_at: str | None = None


class RelationIn(_Lenient):
    sync_id: str
    source_id: str
    target_id: str
    relation: str = "pending"
    reason: str | None = None
    evidence: str | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)
    judgment_status: Status = "pending"
    project: str | None = None  # of an edge between entities
    marked_by_actor: str | None = None
    marked_by_kind: str | None = None
    marked_by_model: str | None = None
    session_id: str | None = None
    superseded_at: str | None = None
    superseded_by_relation_sync_id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class PromptTombstoneIn(_Lenient):
    sync_id: str
    session_id: str | None = None
    project: str | None = None
    deleted_at: str | None = None


_TEXTS: dict[str, Any] = {
    name: (str | None, None) for name, kind in (OWN_COLUMNS | OWN_SOMETIMES).items() if kind != "value"
}


class OwnObservation(create_model("OwnTexts", __base__=_Times, **_TEXTS)):  # type: ignore[misc]
    """The columns of an observation that Engram has no place for, and its times to the millisecond."""

    aliases: str | None = None
    origin: Literal["user", "agent", "derived", "import"] = "import"
    lifecycle: Literal["active", "historical", "archived"] = "active"
    salience: float = Field(default=0.5, allow_inf_nan=False)
    access_count: Count = 0
    last_accessed_at: str | None = None


class OwnSession(_Lenient):
    agent: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    updated_at: str | None = None


class OwnRelation(_Lenient):
    """The judgment of a relation whose row says orphaned, because one of its ends is not in the file."""

    judgment_status: Status


class OwnVersion(_Lenient):
    sync_id: str
    version: Count = 0
    title: str
    content: str
    created_at: str | None = None


class OwnAnchor(_Lenient):
    """A file of an observation. Path and hashes are checked before they are used."""

    path: str
    start_line: Count | None = None
    end_line: Count | None = None
    origin: str = "given"
    digest: str | None = None
    probe: str | None = None
    copies: Count = 1
    ordinal: Count = 0
    file_digest: str | None = None
    blob: str | None = None
    git_commit: str | None = None
    recorded_at: str | None = None


class OwnTombstone(_Lenient):
    entity: Literal["session", "observation", "prompt", "relation", "project", "alias"]
    entity_key: str
    project: str = ""
    session_id: str | None = None
    deleted_at: str | None = None


class OwnBlock(_Lenient):
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


class ExportIn(_Lenient):
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


def first_problem(error: ValidationError) -> str:
    """Return the place and the message of the first thing that is wrong, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part)[:_SHOWN_CHARS] for part in first['loc'])}: {first['msg']}"


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
