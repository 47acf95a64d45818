"""The values that replicas exchange (mutations, batches of them, what became of a batch), and mutations as JSON:
entries of Engram's push and pull and of the ``mutations`` of its chunks; which of two states wins. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from engram_py.base.clock import LAST_MILLISECOND, MOST_DEVICE_CHARS, Stamp, parse_stamp
from engram_py.base.dataclass import dataclass, field, fields, replace
from engram_py.base.lazy import regex
from engram_py.base.times import parse_time

Op = Literal["upsert", "delete"]

# Where a payload keeps what Engram has no place for. Its importer ignores the block.
OWN_BLOCK = "engram_py"
# In the block: whose a row is that the sender passes on without trusting it. It can only take trust away.
UNCHECKED = "unchecked"
# In the block: the signature of the person that a row is of (``memory/privacy/signatures.py``).
SIGNATURE = "signature"
# What is said of a row by those who pass it on; no part of the row.
_PASSED_ON = frozenset({UNCHECKED, SIGNATURE})

# The kinds this program writes. A row of another kind, from a newer one, is kept and passed on untouched.
KINDS = ("project", "alias", "session", "observation", "version", "prompt", "relation")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A row of ``entity`` as one machine had it at ``clock`` (``upsert``), or the end of it (``delete``).

    ``entity_key`` is the same on every machine. ``payload`` is Engram's JSON of the row, with our columns in its block
    ``engram_py``. ``occurred_at`` is UTC text. ``seq`` is the place in the sender's queue, 0 when unknown.
    """

    entity: str
    entity_key: str
    op: Op
    project: str
    payload: dict[str, Any]
    clock: str
    occurred_at: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """A batch of local changes. ``upto`` is the next cursor; ``more``: something follows it."""

    mutations: tuple[Mutation, ...]
    upto: int
    more: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that was refused: its index in the batch, what it is, and the reason for a person."""

    index: int
    entity: str
    entity_key: str
    reason: str


@dataclass(frozen=True, slots=True)
class AppliedBatch:
    """The result of applying a batch.

    ``applied`` changed something here; ``unchanged`` was known, or older than what is here; ``deferred`` waits for
    what it depends on; ``refused`` could not be read. ``ahead`` counts rows dated too far in the future to set the
    clock by. The numbers but ``ahead`` add up to the size of the batch.
    """

    applied: int = 0
    unchanged: int = 0
    deferred: int = 0
    refused: tuple[Refused, ...] = ()
    ahead: int = 0

    def __add__(self, other: AppliedBatch) -> AppliedBatch:
        return AppliedBatch(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(AppliedBatch)))


@dataclass(frozen=True, slots=True)
class ReplicaDigest:
    """The value that two replicas compare: equal when their shared rows are; ``counts`` by kind."""

    value: str
    counts: dict[str, int] = field(default_factory=dict)


def above(mutation: Mutation) -> str:
    """Return the clock, dated ahead, that this state was written to stand above; empty when there is none."""
    named = (mutation.payload.get(OWN_BLOCK) or {}).get("above")
    return named if isinstance(named, str) else ""


def precedence(clock: str, above: str) -> str:
    """Return what states of a row are compared by: the clock, unless it was written to stand above a later one."""
    return f"{above} {clock}" if above > clock else clock


KEY_LIMIT_CHARS = 400
PROJECT_LIMIT_CHARS = 200
# An observation is at most 50,000 bytes of content, which JSON may write six times as long.
PAYLOAD_LIMIT_BYTES = 1_000_000

# Kinds whose deletion is for good. Of kinds that are neither these nor NATURAL nothing is known.
_DESTROYED = frozenset({"observation", "version", "prompt", "relation"})

_MOST_TIME_CHARS = 40

_ENTITY = regex(r"[a-z][a-z_]{0,31}")
_TIMES = ("updated_at", "deleted_at", "ended_at", "started_at", "created_at")

# What Engram's server asks of each kind (spec/engram-behaviour.md 6.5). A session's directory may be empty here:
# their refusal of it is what filled queues (#1104).
_REQUIRED = {
    "observation": ("sync_id", "session_id", "type", "title", "content", "scope"),
    "prompt": ("sync_id", "session_id", "content"),
    "session": ("id",),
    "relation": ("sync_id", "source_id", "target_id", "relation", "judgment_status"),
}


class InvalidEntryError(ValueError):
    """An entry that is not a mutation; the text is the reason."""


def entry_of(mutation: Mutation) -> dict[str, Any]:
    """Return the JSON object that is sent. Its clock is in the payload's block ``engram_py``."""
    own = {"format": 1, **mutation.payload.get(OWN_BLOCK, {}), "clock": mutation.clock}
    return {
        "project": mutation.project,
        "entity": mutation.entity,
        "entity_key": mutation.entity_key,
        "op": mutation.op,
        "payload": {**mutation.payload, OWN_BLOCK: own},
        "occurred_at": mutation.occurred_at,
    }


def mutation_of(entry: object, *, seq: int = 0, strict: bool = True) -> Mutation:
    """Parse an entry. Fields beyond the required ones are checked where it is applied.

    Unless ``strict`` only a text is required, as in an import: older Engrams wrote rows without a title.

    Raises InvalidEntryError with the field and the reason.
    """
    if not isinstance(entry, dict):
        raise InvalidEntryError("not a JSON object")
    entity = _text(entry, "entity", limit=32)
    if not _ENTITY.fullmatch(entity):
        raise InvalidEntryError("entity: not a name of a kind (small letters and _)")
    key = _text(entry, "entity_key", limit=KEY_LIMIT_CHARS)
    op = entry.get("op")
    if op not in ("upsert", "delete"):
        raise InvalidEntryError("op: neither upsert nor delete")
    payload = unpacked(entry.get("payload"))
    if payload is None and op == "delete":
        payload = {}
    if not isinstance(payload, dict):
        raise InvalidEntryError("payload: not a JSON object")
    project = _text(entry, "project", limit=PROJECT_LIMIT_CHARS)
    if project != project.strip():
        raise InvalidEntryError("project: blanks around the name")
    if op == "upsert":
        _check_required(entity, payload, strict=strict)
    occurred = entry.get("occurred_at")
    occurred_at = occurred[:_MOST_TIME_CHARS] if isinstance(occurred, str) else ""
    _check_text((payload, occurred_at))
    return Mutation(entity, key, op, project, payload, clock_of(payload, occurred_at), occurred_at, seq)


def clock_of(payload: dict[str, Any], occurred_at: str = "") -> str:
    """Return the clock of a payload; without one, make it of its latest time and text, the same everywhere.

    Raises InvalidEntryError when it carries something that is no clock.
    """
    own = payload.get(OWN_BLOCK)
    if own is not None and not isinstance(own, dict):
        raise InvalidEntryError(f"payload.{OWN_BLOCK}: not a JSON object")
    if (above := (own or {}).get("above")) is not None:
        _checked_clock(above)
    stamp = (own or {}).get("clock")
    if stamp is not None:
        return _checked_clock(stamp)
    texts = (*(payload.get(name) for name in _TIMES), occurred_at)
    moments = [parse_time(text) for text in texts if isinstance(text, str)]
    latest = max((int(moment.timestamp() * 1000) for moment in moments if moment is not None), default=0)
    return str(Stamp(min(max(0, latest), LAST_MILLISECOND), 0, fingerprint(payload)[:16]))


def _checked_clock(stamp: object) -> str:
    name = f"payload.{OWN_BLOCK}.clock"
    try:
        read = parse_stamp(stamp if isinstance(stamp, str) else "")
    except ValueError as exc:
        raise InvalidEntryError(f"{name}: {exc}"[:200]) from None
    if read.milliseconds > LAST_MILLISECOND or len(read.device) > MOST_DEVICE_CHARS:
        raise InvalidEntryError(
            f"{name}: after the year 9999, or of a device with more than {MOST_DEVICE_CHARS} digits"
        )
    return str(read)


def is_final(mutation: Mutation) -> bool:
    """Return whether a mutation destroys a row for good, whatever was changed elsewhere.

    Only rows with random keys are destroyed for good: sessions, projects and aliases can be made again, and so can what
    was only withdrawn.
    """
    if mutation.op != "delete" or mutation.entity not in _DESTROYED:
        return False
    own = mutation.payload.get(OWN_BLOCK)
    if isinstance(own, dict) and own.get("withdrawn") is True:
        return False
    return own is not None or mutation.payload.get("hard_delete") is True


def rank(mutation: Mutation) -> str:
    """Return what a server compares between states of a row: a final deletion is above every clock."""
    return f"~{mutation.clock}" if is_final(mutation) else precedence(mutation.clock, above(mutation))


def fingerprint(payload: dict[str, Any]) -> str:
    """Return 64 hex digits of the payload's content, whatever the order of its keys and whoever passed it on."""
    own = payload.get(OWN_BLOCK)
    if isinstance(own, dict) and not _PASSED_ON.isdisjoint(own):
        payload = {**payload, OWN_BLOCK: {name: value for name, value in own.items() if name not in _PASSED_ON}}
    text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


# What speaks in a row of each kind: its person signs that, and a change of it changes whose the row is.
SPOKEN: dict[str, tuple[str, ...]] = {
    "observation": (
        "title", "content", "type", "topic_key", "aliases", "scope", "pinned", "about", "origin", "guards"
    ),
    "version": ("title", "content"),
    "session": ("summary", "directory"),
    "prompt": ("content",),
    "relation": ("source_id", "target_id", "relation", "reason", "judgment_status", "superseded_at"),
}  # fmt: skip


def signed_content(mutation: Mutation) -> dict[str, Any]:
    """Return what the signature of a row covers: its identity, its clock, and what speaks in it.

    A value that says nothing counts as one that is missing: a file leaves it out.
    """
    said = mutation.payload | (mutation.payload.get(OWN_BLOCK) or {})
    spoken = {name: said[name] for name in SPOKEN[mutation.entity] if said.get(name) not in (None, "", False)}
    return {
        "entity": mutation.entity,
        "key": mutation.entity_key,
        "op": mutation.op,
        "clock": mutation.clock,
        "spoken": spoken,
    }


def with_signature(mutation: Mutation, signature: str) -> Mutation:
    """Return a mutation that carries the signature of its person."""
    block = (mutation.payload.get(OWN_BLOCK) or {}) | {SIGNATURE: signature}
    return replace(mutation, payload=mutation.payload | {OWN_BLOCK: block})


def _check_text(value: object) -> None:
    """Refuse half a surrogate pair, which neither database can hold. Raises InvalidEntryError."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidEntryError("payload: a text holds half of a surrogate pair") from None
    except (ValueError, RecursionError):
        raise InvalidEntryError("payload: nested too deeply") from None


def _check_required(entity: str, payload: dict[str, Any], *, strict: bool) -> None:
    for name in _REQUIRED.get(entity, ()):
        value = payload.get(name)
        if (value is None or value == "") and not strict and entity in ("observation", "prompt") and name != "content":
            continue
        if not isinstance(value, str) or not value.strip():
            raise InvalidEntryError(f"payload.{name}: missing or empty")


def _text(entry: dict[str, Any], name: str, *, limit: int) -> str:
    value = entry.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidEntryError(f"{name}: missing or empty")
    if len(value) > limit:
        raise InvalidEntryError(f"{name}: longer than {limit} characters")
    if "\0" in value or not value.isprintable():
        raise InvalidEntryError(f"{name}: holds a control character")
    return value


def unpacked(payload: object) -> object:
    """Return the payload as JSON; Engram's queue holds payloads as text. Raises InvalidEntryError."""
    if not isinstance(payload, str):
        return payload
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise InvalidEntryError("payload: text that is no JSON") from None


def wins(clock: str, columns: Mapping[str, Any], over_clock: str, over: Mapping[str, Any]) -> bool:
    """Return whether a state that arrived replaces the one that is here; equal states do not.

    Of one clock with two contents (a copied database, a broken device) the larger fingerprint wins everywhere.
    """
    if clock != over_clock:
        return clock > over_clock
    return columns != over and fingerprint(dict(columns)) > fingerprint(dict(over))


def version_digest(created_at: str, title: str, content: str) -> str:
    """Return the name of an older text among those of its observation: 32 hex digits."""
    joined = "".join(f"{len(part)}:{part}" for part in (created_at, title, content))
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def version_key(sync_id: str, digest: str) -> str:
    return f"{sync_id}/{digest}"


def version_owner(key: str) -> tuple[str, str]:
    """Return the observation and the digest in a version's key; the digest is empty when it is no such key."""
    sync_id, _, digest = key.rpartition("/")
    return sync_id, digest


class Names:
    """Projects by all their names.

    Aliases are taken in the order of their clocks; one that would close a circle (two machines merged two projects
    into each other) is passed over, so that every name ends in one project, the same on every machine.
    """

    def __init__(self, aliases: Iterable[tuple[str, str, str]]) -> None:
        """``aliases`` are (alias, project, clock)."""
        self._parent: dict[str, str] = {}
        for alias, project, _ in sorted(aliases, key=lambda one: (one[2], one[0])):
            root = self.canonical(project)
            if root != alias and alias not in self._parent:
                self._parent[alias] = root

    def canonical(self, name: str) -> str:
        while name in self._parent:
            name = self._parent[name]
        return name

    @property
    def moved(self) -> dict[str, str]:
        """The names that mean another project now, with that project."""
        return {name: self.canonical(name) for name in self._parent}
