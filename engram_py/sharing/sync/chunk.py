"""Chunks: mutations as the JSON object that Engram keeps in a repository, and back; packed with gzip, and unpacked
within limits. Pure.

Rows of sessions, observations and prompts are Engram's own objects, relations and deletions are entries of its
``mutations``; our columns are in the block ``engram_py`` of each, which it passes over. What it has no place for is
in the block ``engram_py`` of the chunk. The manifest, Engram's list of chunks, repeats what they say, so it can be
lost.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engram_py.base.dataclass import asdict, dataclass
from engram_py.base.files import readable
from engram_py.base.lazy import regex
from engram_py.base.times import parse_time
from engram_py.sharing.sync.mutation import (
    KINDS,
    OWN_BLOCK,
    InvalidEntryError,
    Mutation,
    entry_of,
    mutation_of,
    unpacked,
)
from engram_py.sharing.sync.replica.columns import derived_id

# What a chunk written here holds at most; Engram splits at the same size.
CHUNK_BYTES = 4 * 2**20

# What is read: Engram puts a whole memory into its first chunk.
MOST_PACKED_BYTES = 32 * 2**20
MOST_PLAIN_BYTES = 128 * 2**20
# Values cost Python about 60 bytes each, however few the file spends on one.
MOST_VALUES = 4_000_000

ID_LENGTHS = (8, 12, 16, 24, 32, 64)
ID = regex(r"[0-9a-f]{8,64}")

# No time, no name, "best compression", system unknown: equal text gives equal bytes on every machine (RFC 1952).
_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"


class ChunkRefusedError(ValueError):
    """A chunk that is refused; the text is the reason for a person."""


def pack(data: bytes) -> bytes:
    """Return ``data`` as gzip; equal data gives equal bytes."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = squeeze.compress(data) + squeeze.flush()
    return _HEADER + body + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)


class ChunkTooLongError(Exception):
    """A chunk that unpacks to more than there is time for now."""


def unpack(packed: bytes, *, most: int | None = None) -> bytes:
    """Return the JSON of a packed chunk; unpacking stops at the limit, whatever the file claims.

    Raises ChunkRefusedError, and ChunkTooLongError where it has more than ``most`` bytes.
    """
    limit = MOST_PLAIN_BYTES if most is None else min(most, MOST_PLAIN_BYTES)
    stretch = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        data = stretch.decompress(packed, limit + 1)
    except zlib.error:
        raise ChunkRefusedError("it is not gzip, or damaged") from None
    if len(data) > limit:
        if limit < MOST_PLAIN_BYTES:
            raise ChunkTooLongError
        raise ChunkRefusedError(f"it unpacks to more than {MOST_PLAIN_BYTES // 2**20} MiB")
    if not stretch.eof:
        raise ChunkRefusedError("it is cut short")
    if stretch.unused_data:
        raise ChunkRefusedError("something follows its end")
    return data


def parse(data: bytes) -> dict[str, Any]:
    """Return the JSON object of a chunk. Raises ChunkRefusedError."""
    if sum(data.count(mark) for mark in (b",", b"[", b"{")) > MOST_VALUES:
        raise ChunkRefusedError(f"it holds more than {MOST_VALUES:,} values")
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        raise ChunkRefusedError("its JSON is nested too deep") from None
    except ValueError:
        raise ChunkRefusedError("it is not JSON") from None
    if not isinstance(document, dict):
        raise ChunkRefusedError("it is not a JSON object")
    return document


def digest(data: bytes) -> str:
    """Return the SHA-256 that names a plain chunk; its file has a prefix of it."""
    return hashlib.sha256(data).hexdigest()


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text[:20])


FORMAT = 1

# kind → (its list in a chunk, the field that is its key)
_LISTS = {"session": ("sessions", "id"), "observation": ("observations", "sync_id"), "prompt": ("prompts", "sync_id")}
# What Engram's decoder needs as text in each row of a list; it refuses a chunk for one row it cannot decode.
_TEXT = {
    "session": ("id", "project", "directory"),
    "observation": ("sync_id", "session_id", "type", "title", "content", "scope"),
    "prompt": ("sync_id", "session_id", "content"),
}
# Engram's import knows no deletion of a relation, and stops at it.
_ENGRAM_DELETES = ("session", "observation", "prompt")
_ENTRY = "entry"  # in a listed row's block: what an entry says beside its payload
_TIMES = ("updated_at", "created_at", "started_at")
_SAFE_ORDER = {kind: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class About:
    """The manifest's entry for a chunk. ``version`` is 2 when a session is owned by its project, else 1."""

    created_by: str = ""
    created_at: str = ""
    sessions: int = 0
    memories: int = 0
    prompts: int = 0
    version: int = 1


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a chunk; ``unreadable`` has a sentence for each row that could not be parsed."""

    mutations: tuple[Mutation, ...]
    about: About
    device: str = ""
    unreadable: tuple[str, ...] = ()


def compose(mutations: Sequence[Mutation], *, device: str, created_by: str) -> tuple[bytes, About]:
    """Return the JSON of a chunk and its manifest entry. The same rows give the same bytes at any time."""
    lists: dict[str, list[Any]] = {"sessions": [], "observations": [], "prompts": []}
    entries: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    for mutation in mutations:
        entry = entry_of(mutation)
        if _is_row(mutation):
            lists[_LISTS[mutation.entity][0]].append(_row(entry))
        elif _is_engrams(mutation):
            entries.append(_engrams(entry))
        else:
            own.append(entry)
    about = About(
        created_by=created_by,
        created_at=_latest(mutation.occurred_at for mutation in mutations),
        sessions=len(lists["sessions"]),
        memories=len(lists["observations"]),
        prompts=len(lists["prompts"]),
        version=_version(lists["sessions"]),
    )
    block = {"format": FORMAT, "device": device, "created_by": created_by, "created_at": about.created_at}
    document: dict[str, Any] = {**lists, "mutations": entries, OWN_BLOCK: {**block, "mutations": own}}
    return json.dumps(document, separators=(",", ":")).encode("ascii"), about


def decompose(document: dict[str, Any], *, project: str) -> Contents:
    """Return the mutations of a chunk, ordered so that none waits for another. ``project`` is for rows without one.

    Raises ChunkRefusedError: its parts are not of the right types, or a newer program wrote it.
    """
    block = document.get(OWN_BLOCK)
    if block is not None and not isinstance(block, dict):
        raise ChunkRefusedError(f"{OWN_BLOCK} is not an object")
    written = (block or {}).get("format", FORMAT)
    if written != FORMAT:
        raise ChunkRefusedError(f"it has format {str(written)[:20]}; this engram reads format {FORMAT}: upgrade it")
    explicit = [*_list(document, "mutations"), *(_list(block, "mutations") if block else ())]
    rows = list(_listed(document, project))
    if block is None:  # Engram writes a row and its mutation; the mutation is what it applies itself
        told = [one for one in explicit if isinstance(one, dict) and one.get("op") == "upsert"]
        said = {_name(one) for one in told} - {None}
        rows = [(place, one) for place, one in rows if _name(one) not in said]
    offered = [*rows, *((f"mutations[{index}]", _with_project(one, project)) for index, one in enumerate(explicit))]
    unreadable: list[str] = []
    read = readable(
        offered,
        lambda one: mutation_of(one[1], strict=False),
        aside=lambda one, why: unreadable.append(f"{one[0]}: {why}"),
    )
    mutations = [mutation for _, mutation in read]
    return Contents(
        mutations=tuple(sorted(mutations, key=_order)),
        about=_about(document, block or {}, mutations),
        device=_short(block, "device"),
        unreadable=tuple(unreadable),
    )


def _name(entry: dict[str, Any]) -> tuple[str, str] | None:
    kind, key = entry.get("entity"), entry.get("entity_key")
    return (kind, key.strip()) if isinstance(kind, str) and isinstance(key, str) else None


def _is_row(mutation: Mutation) -> bool:
    if mutation.op != "upsert" or mutation.entity not in _LISTS:
        return False
    payload, (_, key) = mutation.payload, _LISTS[mutation.entity]
    texts = all(isinstance(payload.get(name), str) for name in _TEXT[mutation.entity])
    return texts and payload[key] == mutation.entity_key and _ENTRY not in payload.get(OWN_BLOCK, {})


def _is_engrams(mutation: Mutation) -> bool:
    if mutation.entity == "relation":
        # One of an entity, or of what was destroyed, would wait there for an observation that never comes.
        ends = (str(mutation.payload.get(name)) for name in ("source_id", "target_id"))
        lost = mutation.payload.get("judgment_status") == "orphaned" or any(end.startswith("entity:") for end in ends)
        return mutation.op == "upsert" and not lost
    return mutation.op == "delete" and mutation.entity in _ENGRAM_DELETES


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    payload = entry["payload"]
    beside = {"project": entry["project"], "occurred_at": entry["occurred_at"]}
    return {**payload, OWN_BLOCK: {**payload[OWN_BLOCK], _ENTRY: beside}}


def _engrams(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry as Engram's queue has it, with its payload as text."""
    payload = json.dumps(entry["payload"], separators=(",", ":"))
    return {"seq": 0, "target_key": "local", **entry, "payload": payload, "source": "local"}


def _listed(document: dict[str, Any], project: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of the three lists as entries, each with its place in the chunk."""
    sessions: dict[str, str] = {}
    for kind, (name, key) in _LISTS.items():
        for index, row in enumerate(_list(document, name)):
            place = f"{name}[{index}]"
            if not isinstance(row, dict):
                yield place, {"entity": kind}
                continue
            payload, beside = _payload(row)
            owner = beside.get("project") or row.get("project") or sessions.get(str(row.get("session_id"))) or project
            if kind == "session":
                sessions[str(row.get("id"))] = owner if isinstance(owner, str) else project
            found = {
                "entity": kind,
                "entity_key": row.get(key) or _derived(kind, row),
                "op": "upsert",
                "project": owner,
                "payload": payload,
            }
            yield place, {**found, "occurred_at": beside.get("occurred_at", "")}


def _derived(kind: str, row: dict[str, Any]) -> str | None:
    """Return the identity of a row without one: the same that an import of it gives."""
    named = {"observation": ("obs", "title"), "prompt": ("prompt",)}.get(kind)
    if named is None:
        return None
    prefix, *more = named
    texts = [row.get(name) for name in ("session_id", "created_at", *more, "content")]
    return derived_id(prefix, *(text if isinstance(text, str) else None for text in texts))


def _payload(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a listed row without what ``_row`` added, and that."""
    block = row.get(OWN_BLOCK)
    if not isinstance(block, dict):
        # Engram lists a row that was deleted softly, and says so by its time alone.
        return (row | {"deleted": True} if row.get("deleted_at") else row), {}
    beside = block.get(_ENTRY)
    payload = {**row, OWN_BLOCK: {name: value for name, value in block.items() if name != _ENTRY}}
    return payload, beside if isinstance(beside, dict) else {}


def _with_project(entry: Any, project: str) -> Any:
    """Return the entry with a project; Engram names it in the payload or not at all."""
    if not isinstance(entry, dict) or entry.get("project"):
        return entry
    try:
        payload = unpacked(entry.get("payload"))
    except InvalidEntryError:
        return entry
    named = payload.get("project") if isinstance(payload, dict) else None
    return {**entry, "payload": payload, "project": named or project}


def _list(holder: dict[str, Any], name: str) -> list[Any]:
    found = holder.get(name)
    if found is None:  # Go writes an empty list so
        return []
    if not isinstance(found, list):
        raise ChunkRefusedError(f"{name} is not a list")
    return found


def _order(mutation: Mutation) -> tuple[int, int]:
    place = _SAFE_ORDER.get(mutation.entity, len(_SAFE_ORDER))
    return (0, place) if mutation.op == "upsert" else (1, -place)


def _about(document: dict[str, Any], block: dict[str, Any], mutations: Sequence[Mutation]) -> About:
    sessions = _list(document, "sessions")
    times = (str(mutation.payload.get(name) or "") for mutation in mutations for name in _TIMES)
    return About(
        created_by=_short(block, "created_by"),
        created_at=_short(block, "created_at") or _latest(times),
        sessions=len(sessions),
        memories=len(_list(document, "observations")),
        prompts=len(_list(document, "prompts")),
        version=_version(sessions),
    )


def _short(block: dict[str, Any] | None, name: str) -> str:
    value = (block or {}).get(name)
    return value[:80] if isinstance(value, str) and value.isprintable() else ""


def _version(sessions: list[Any]) -> int:
    owned = any(isinstance(row, dict) and row.get("ownership_mode") == "project_owned" for row in sessions)
    return 2 if owned else 1


def _latest(times: Iterable[str]) -> str:
    """Return the latest of the times, to the second, as Engram's manifest has it."""
    moments = [moment for text in times if (moment := parse_time(text)) is not None]
    return f"{max(moments):%Y-%m-%dT%H:%M:%SZ}" if moments else "1970-01-01T00:00:00Z"


# One object without objects in it, whatever is around it: conflict marks, another half, a missing comma.
_LISTED = regex(r"\{[^{}]*\}")
_NAME_CHARS = 80


def manifest_text(chunks: Mapping[str, About]) -> str:
    """Return the manifest, a chunk on each line in the order of their ids, so that git merges it by line."""
    version = max((about.version for about in chunks.values()), default=1)
    lines = [json.dumps(_entry(name, about), ensure_ascii=False) for name, about in sorted(chunks.items())]
    body = "\n" + ",\n".join(lines) + "\n" if lines else ""
    return f'{{"version": {version}, "chunks": [{body}]}}\n'


def recovered_manifest(text: str) -> dict[str, About]:
    """Return the readable entries of a manifest, whatever is around them. Never raises."""
    found: dict[str, About] = {}
    for match in _LISTED.finditer(text):
        try:
            entry = json.loads(match[0])
        except (ValueError, RecursionError):
            continue
        name = entry.get("id")
        if isinstance(name, str) and ID.fullmatch(name):
            counts = {kind: _count(entry.get(kind)) for kind in ("sessions", "memories", "prompts")}
            found[name] = About(plain_name(entry.get("created_by")), _time(entry.get("created_at")), **counts)
    return found


def is_whole(text: str) -> bool:
    """Return whether Engram can read it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get("chunks"), list)


def plain_name(value: object) -> str:
    """Return a person's name as the manifest may show it, '' for a path."""
    if not isinstance(value, str):
        return ""
    shown = "".join(char for char in value if char.isprintable()).strip()
    return "" if "/" in shown or "\\" in shown else shown[:_NAME_CHARS]


def _entry(name: str, about: About) -> dict[str, object]:
    entry = {"id": name, **asdict(about), "created_by": plain_name(about.created_by)}
    return {key: value for key, value in entry.items() if key != "version"}


def _time(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 40 and parse_time(value) is not None else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0
