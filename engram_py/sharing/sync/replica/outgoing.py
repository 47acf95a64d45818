"""Make mutations of rows: Engram's JSON of each, with our columns in its block."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import replace
from engram_py.base.times import to_engram
from engram_py.memory.anchors import table as anchor_table
from engram_py.memory.observations.table import ENGRAM, EXACT, OWN_COLUMNS, OWN_SOMETIMES, SOMETIMES, SPECIAL, TIMES
from engram_py.memory.observations.values import DISTILLER
from engram_py.memory.relations.values import DUPLICATES
from engram_py.sharing.sync.mutation import OWN_BLOCK, UNCHECKED, Mutation, chosen_lifecycle, version_key, version_owner
from engram_py.sharing.sync.replica import table

# The project of a row is that which it had when it was queued.
_OBSERVATION = (*(name for name in ENGRAM if name != "project"), "review_after")
_OWN_OBSERVATION = (*SPECIAL, *OWN_COLUMNS, *EXACT, "review_after")
_SESSION = ("id", "ownership_mode", "directory", "started_at", "ended_at", "summary")
_OWN_SESSION = ("agent", "started_at", "ended_at", "updated_at")
_PROMPT = ("sync_id", "session_id", "content", "created_at")
_RELATION = (
    "sync_id", "source_id", "target_id", "relation", "reason", "evidence", "confidence", "judgment_status",
    "marked_by_actor", "marked_by_kind", "marked_by_model", "session_id", "created_at", "updated_at",
)  # fmt: skip
_OWN_RELATION = ("superseded_at", "created_at", "updated_at")
_TIMES = TIMES | {"started_at", "ended_at"}


class Outgoing:
    """Makes mutations of queued keys with their present text, without what must stay on this machine."""

    def __init__(self, store: Store, *, prompts: bool) -> None:
        self._store = store
        self._prompts = prompts

    def mutations(self, queued: Sequence[Row | dict[str, Any]]) -> list[Mutation]:
        """Return a mutation for each queued row that may be sent and still exists, in order."""
        keys: dict[str, list[str]] = {}
        for row in queued:
            keys.setdefault(row["entity"], []).append(row["entity_key"])
        found = {(one.entity, one.entity_key): one for kind in keys for one in self.rows(kind, keys[kind])}
        names = [(row, (row["entity"], row["entity_key"])) for row in queued]
        return [_as_queued(found[name], row) for row, name in names if name in found]

    def rows(self, entity: str, keys: Sequence[str]) -> Iterable[Mutation]:
        """Return the present rows of one kind as mutations; a deleted row is its tombstone."""
        match entity:
            case "observation":
                live = self._observations(keys)
            case "version":
                live = self._versions(keys)
            case "session" | "prompt" | "relation":
                live = self._plain(entity, keys)
            case "project" | "alias":
                live = self._named(entity, keys)
            case _:
                live = self._carried(entity, keys)
        for key in table.private(self._store, entity, keys):
            live[key] = _WITHHELD
        gone = [(entity, key) for key in keys if key not in live]
        stones = table.by_name(self._store, "tombstones", gone) if gone and entity != "version" else {}
        states = [*(one for one in live.values() if one.entity), *(_deletion(row) for row in stones.values())]
        over = table.by_name(self._store, "sync_ahead", [(entity, one.entity_key) for one in states])
        return [_above(one, over.get((entity, one.entity_key))) for one in states]

    def _observations(self, keys: Sequence[str]) -> dict[str, Mutation]:
        rows = table.outgoing(self._store, "observation", keys)
        anchors = anchor_table.exported_of(self._store, [row["id"] for row in rows.values()])
        personal = [key for key, row in rows.items() if row["scope"] == "personal"]
        taken_back = table.withdrawn(self._store, personal)
        found: dict[str, Mutation] = {}
        for key, row in rows.items():
            if self._stays(row):
                found[key] = _WITHHELD
            elif row["scope"] != "personal":
                given = (*_OBSERVATION, *(name for name in SOMETIMES if row[name] is not None))
                own = (*_OWN_OBSERVATION, *(name for name in OWN_SOMETIMES if row[name] is not None))
                payload = _payload(row, given, own) | {"pinned": bool(row["pinned"])}
                payload[OWN_BLOCK]["lifecycle"] = chosen_lifecycle(row["lifecycle"])
                if row["deleted_at"]:
                    payload["deleted"] = True
                if anchors.get(row["id"]):
                    payload[OWN_BLOCK]["anchors"] = anchors[row["id"]]
                found[key] = _upsert("observation", key, row, payload)
            elif key in taken_back:
                found[key] = _withdrawal(key, taken_back[key])
            else:
                found[key] = _WITHHELD
        return found

    def _stays(self, row: Row) -> bool:
        """Return whether a row quotes a conversation that it was derived from: before it is accepted it leaves as
        little as prompts. Of what arrived, a statement was shared by somebody's choice."""
        stated = row["arrival"] is None and str(row["tool_name"] or "").startswith(DISTILLER)
        return row["origin"] == "derived" and (row["type"] == "session_summary" or stated) and not self._prompts

    def _versions(self, keys: Sequence[str]) -> dict[str, Mutation]:
        found: dict[str, Mutation] = {}
        for row in table.versions(self._store, [version_owner(key) for key in keys]):
            key = version_key(row["sync_id"], row["digest"])
            if row["scope"] != "personal" and not self._stays(row):
                payload = {name: row[name] for name in ("title", "content", "created_at")}
                payload |= {"sync_id": row["sync_id"], OWN_BLOCK: _passed_on(row)}
                found[key] = Mutation("version", key, "upsert", "", payload, row["clock"])
        return found

    def _plain(self, entity: str, keys: Sequence[str]) -> dict[str, Mutation]:
        rows = table.outgoing(self._store, entity, keys)
        hidden = table.with_personal_ends(self._store, keys) if entity == "relation" else set()
        found: dict[str, Mutation] = {}
        for key, row in rows.items():
            if row["clock"] == table.MADE_UP:
                continue  # a stand-in; where the session was deleted, that is what there is to say
            # A relation without a verdict is this machine's own question, and only it knows what was merged here.
            is_question = entity == "relation" and (
                row["judgment_status"] == "pending" or row["relation"] == DUPLICATES
            )
            # The end of a prompt is told in any case: it may have left before.
            if key in hidden or is_question or (entity == "prompt" and not self._prompts):
                found[key] = _WITHHELD
                continue
            names, own = {
                "session": (_SESSION, _OWN_SESSION),
                "prompt": (_PROMPT, ("created_at",)),
                "relation": (_RELATION, _OWN_RELATION),
            }[entity]
            payload = _payload(row, names, own)
            if entity == "session":
                payload["directory"] = portable_directory(row["directory"])
            found[key] = _upsert(entity, key, row, payload)
        return found

    def _named(self, entity: str, keys: Sequence[str]) -> dict[str, Mutation]:
        found: dict[str, Mutation] = {}
        for key, row in table.named(self._store, entity, keys).items():
            names = ("alias", "project", "created_at") if entity == "alias" else _PROJECT
            payload: dict[str, Any] = {name: row[name] for name in names} | {OWN_BLOCK: {}}
            project = row["project"] if entity == "alias" else row["name"]
            if row["clock"] != table.MADE_UP:
                found[key] = Mutation(entity, key, "upsert", project, payload, row["clock"])
        return found

    def _carried(self, entity: str, keys: Sequence[str]) -> dict[str, Mutation]:
        rows = table.by_name(self._store, "sync_carried", [(entity, key) for key in keys])
        return {
            key: Mutation(entity, key, "upsert", row["project"], json.loads(row["payload"]), row["clock"])
            for (_, key), row in rows.items()
        }


def _above(mutation: Mutation, over: Row | None) -> Mutation:
    """Return a state that says which clock, dated ahead, it was written to stand above."""
    if over is None or over["clock"] <= mutation.clock:
        return mutation
    block = mutation.payload.get(OWN_BLOCK, {}) | {"above": over["clock"]}
    return replace(mutation, payload=mutation.payload | {OWN_BLOCK: block})


def portable_directory(directory: str) -> str:
    """Return a directory as others may read it: below ``~``, without the user's name."""
    home = os.path.expanduser("~").rstrip("/\\")  # noqa: PTH111 (Path.home may raise)
    rest = directory.removeprefix(home)
    inside = len(home) > 1 and rest != directory and rest[:1] in ("", "/", "\\")
    return f"~{rest}" if inside else directory


_PROJECT = ("name", "display_name", "origin", "created_at", "updated_at")
_WITHHELD = Mutation("", "", "upsert", "", {}, "")


def _payload(row: Row, names: tuple[str, ...], own: tuple[str, ...]) -> dict[str, Any]:
    payload = {name: to_engram(row[name]) if name in _TIMES else row[name] for name in names}
    payload["project"] = row["given_project"]
    payload[OWN_BLOCK] = {name: row[name] for name in own} | _passed_on(row)
    return payload


def _passed_on(row: Row) -> dict[str, str]:
    """Return what tells the next machine that a row is not its sender's own."""
    return {UNCHECKED: row["author"]} if row["author"] else {}


def _upsert(entity: str, key: str, row: Row, payload: dict[str, Any]) -> Mutation:
    return Mutation(entity, key, "upsert", row["project"], payload, row["clock"])


def _withdrawal(key: str, row: Row) -> Mutation:
    payload = {"sync_id": key, "project": row["project"], "deleted": True, OWN_BLOCK: {"withdrawn": True}}
    return Mutation("observation", key, "delete", row["project"], payload, row["clock"])


def _deletion(row: Row) -> Mutation:
    """Return a tombstone as a mutation, with the fields Engram needs."""
    entity, key = row["entity"], row["entity_key"]
    name = "id" if entity == "session" else "sync_id"
    payload: dict[str, Any] = {
        name: key,
        "project": row["project"],
        "deleted": True,
        "deleted_at": to_engram(row["deleted_at"]),
        "hard_delete": bool(row["final"]),
        OWN_BLOCK: {"deleted_at": row["deleted_at"], **({} if row["final"] else {"withdrawn": True})},
    }
    if row["session_id"]:
        payload["session_id"] = row["session_id"]
    return Mutation(entity, key, "delete", row["project"], payload, row["clock"])


def _as_queued(mutation: Mutation, row: Row | dict[str, Any]) -> Mutation:
    project = row["project"] or mutation.project
    return replace(mutation, project=project, occurred_at=row["occurred_at"], seq=row["seq"])
