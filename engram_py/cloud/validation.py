"""Parse and check pushed rows before the database sees them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from engram_py.base.asgi import json_object
from engram_py.base.clock import parse_stamp
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.times import parse_time, to_text
from engram_py.cloud.errors import InvalidBodyError, InvalidRequestError, PushTooLargeError
from engram_py.sharing.sync.mutation import (
    OWN_BLOCK,
    PAYLOAD_LIMIT_BYTES,
    InvalidEntryError,
    Mutation,
    fingerprint,
    mutation_of,
    unpacked,
)

MOST_ENTRIES = 500
MOST_DEPTH = 64
MOST_CLOCK_CHARS = 100
MOST_TIME_CHARS = 64
MOST_DEVICE_CHARS = 64
_MAX_INTEGER = 2**63
# The project of a grant to all of them; no row has it.
EVERY_PROJECT = "*"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A valid row of a push. ``payload`` is its JSON as it is stored."""

    index: int
    mutation: Mutation
    fingerprint: str
    payload: str
    size: int

    @property
    def given_project(self) -> str:
        """The project that the payload names, else the one the row was pushed to."""
        named = self.mutation.payload.get("project")
        return named if isinstance(named, str) and named else self.mutation.project

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects that the right to this row depends on."""
        alias = (self.mutation.entity_key,) if self.mutation.entity == "alias" else ()
        return (self.mutation.project, self.given_project, *alias)

    def moved(self, project: str) -> Incoming:
        """Return the same row with ``project`` in its payload."""
        mutation = replace(self.mutation, payload={**self.mutation.payload, "project": project})
        return _row(self.index, mutation)

    @property
    def hides(self) -> bool:
        """Whether the row is Engram's soft deletion, which has the time of the deletion and none of the text."""
        payload = self.mutation.payload
        is_deletion = self.mutation.op == "delete" and self.mutation.entity == "observation"
        return is_deletion and payload.get(OWN_BLOCK) is None and payload.get("hard_delete") is not True

    def over(self, kept: dict[str, Any]) -> Incoming:
        """Return a soft deletion together with the payload it hides: a machine that pulls later gets both."""
        deletion = self.mutation
        payload = {
            **kept,
            "deleted": True,
            "deleted_at": _deletion_time(deletion),
            OWN_BLOCK: {**(kept.get(OWN_BLOCK) or {}), "clock": deletion.clock},
        }
        payload[OWN_BLOCK].pop("deleted_at", None)  # of an earlier deletion
        return _row(self.index, replace(deletion, op="upsert", payload=payload))


@dataclass(frozen=True, slots=True)
class Rejected:
    """An entry that was refused. ``repairable``: the same entry may be accepted later."""

    index: int
    entity: str
    entity_key: str
    reason_code: str
    reason: str
    repairable: bool = False


@dataclass(frozen=True, slots=True)
class EntryBatch:
    rows: tuple[Incoming, ...]
    rejected: tuple[Rejected, ...]
    device: str = ""


class _InvalidRowError(Exception):
    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def parse_batch(body: bytes) -> EntryBatch:
    """Return the rows of a push. Raises InvalidBodyError, InvalidRequestError, PushTooLargeError."""
    value = json_object(body, InvalidBodyError)
    entries = value.get("entries")
    if not isinstance(entries, list):
        raise InvalidRequestError("entries", expected="a list of entries")
    if len(entries) > MOST_ENTRIES:
        raise PushTooLargeError("entries", MOST_ENTRIES)
    device = value.get("device")
    return parse_entries(entries, device=device if isinstance(device, str) else "")


def parse_entries(entries: Sequence[object], *, device: str = "") -> EntryBatch:
    """Parse each entry by itself: a bad one is rejected with a reason and does not stop the others."""
    rows, rejected = [], []
    for index, entry in enumerate(entries):
        try:
            rows.append(_read(index, entry))
        except _InvalidRowError as exc:
            rejected.append(_rejected(index, entry, exc.code, str(exc)))
        except InvalidEntryError as exc:
            rejected.append(_rejected(index, entry, "invalid_entry", str(exc)))
    return EntryBatch(tuple(rows), tuple(rejected), _clean(device, MOST_DEVICE_CHARS))


def _read(index: int, entry: object) -> Incoming:
    if isinstance(entry, dict):
        entry = {**entry, "payload": unpacked(entry.get("payload"))}
        _check(entry)
        occurred = entry.get("occurred_at")
        if isinstance(occurred, str) and len(occurred) > MOST_TIME_CHARS:
            raise _InvalidRowError("invalid_entry", "occurred_at: not a time")
    mutation = mutation_of(entry)
    if mutation.project == EVERY_PROJECT:
        raise _InvalidRowError("invalid_entry", f"project: {EVERY_PROJECT} is no project")
    if len(mutation.clock) > MOST_CLOCK_CHARS:
        raise _InvalidRowError("invalid_entry", "the clock is too long")
    row = _row(index, mutation)
    if row.size > PAYLOAD_LIMIT_BYTES:
        raise _InvalidRowError(
            "payload_too_large", f"payload: {row.size:,} bytes, the limit is {PAYLOAD_LIMIT_BYTES:,}"
        )
    return row


def _row(index: int, mutation: Mutation) -> Incoming:
    text = json.dumps(mutation.payload, ensure_ascii=False, separators=(",", ":"))
    return Incoming(index, mutation, fingerprint(mutation.payload), text, len(text.encode()))


def _deletion_time(deletion: Mutation) -> str:
    deleted_at = deletion.payload.get("deleted_at")
    if isinstance(deleted_at, str) and parse_time(deleted_at) is not None:
        return deleted_at
    return to_text(datetime.fromtimestamp(parse_stamp(deletion.clock).milliseconds / 1000, UTC))


def check_json(value: object) -> str:
    """Return why a value cannot be stored, '' when it can."""
    try:
        _check(value)
    except _InvalidRowError as exc:
        return str(exc)
    return ""


def _check(entry: object) -> None:
    """Refuse values that PostgreSQL or SQLite cannot hold. Iterative, because the sender chooses the depth."""
    pending: list[tuple[object, int]] = [(entry, 0)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str):
            _check_text(value)
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise _InvalidRowError("invalid_number", "a number that is not finite")
        elif isinstance(value, int):
            if not -_MAX_INTEGER <= value < _MAX_INTEGER:
                raise _InvalidRowError("invalid_number", "a whole number of more than 64 bits")
        elif isinstance(value, dict | list):
            if depth >= MOST_DEPTH:
                raise _InvalidRowError("invalid_entry", f"nested more than {MOST_DEPTH} deep")
            inner = [*value, *value.values()] if isinstance(value, dict) else value
            pending += [(item, depth + 1) for item in inner]


def _check_text(text: str) -> None:
    if "\0" in text:
        raise _InvalidRowError("invalid_text", "a text holds a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _InvalidRowError("invalid_text", "a text holds half of a surrogate pair") from None


def _rejected(index: int, entry: object, code: str, reason: str) -> Rejected:
    named = entry if isinstance(entry, dict) else {}
    entity, key = (_clean(named.get(name), 80) for name in ("entity", "entity_key"))
    return Rejected(index, entity, key, code, reason)


def _clean(value: object, limit: int) -> str:
    """Return a name that can be stored and shown: printable characters only."""
    if not isinstance(value, str):
        return ""
    return "".join(char for char in value[:limit] if char.isprintable())
