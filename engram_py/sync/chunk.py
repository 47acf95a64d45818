"""Chunks: mutations as the JSON object that Engram keeps in a repository, and back. Pure.

Rows of sessions, observations and prompts are Engram's own objects, relations and deletions are entries of its
``mutations``; our columns are in the block ``engram_py`` of each, which it passes over. What it has no place for is in
the block ``engram_py`` of the chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engram_py.dataclass import dataclass
from engram_py.interchange.columns import derived_id
from engram_py.sync.mutation import KINDS, OWN_BLOCK, Mutation
from engram_py.sync.packing import ChunkRefusedError
from engram_py.sync.wire import InvalidEntryError, entry_of, mutation_of
from engram_py.times import parse_time

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
    mutations: list[Mutation] = []
    unreadable: list[str] = []
    for place, entry in offered:
        try:
            mutations.append(mutation_of(entry, strict=False))
        except InvalidEntryError as exc:
            unreadable.append(f"{place}: {exc}")
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
    payload = entry.get("payload")
    if isinstance(payload, str):
        try:
            payload = json.loads(payload)
        except (ValueError, RecursionError):
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
