"""List what people and agents changed on this machine, newest first, and take it back.

Taking back is a change like any other: it syncs, and it can be taken back by the number of its observation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import ConflictError, NotFoundError
from engram_py.memory.observations import table
from engram_py.memory.observations.arguments import kept_observation
from engram_py.memory.observations.listing import Made
from engram_py.memory.observations.values import Changed, Observation
from engram_py.memory.relations import table as relation_table
from engram_py.memory.relations.relations import Relations
from engram_py.memory.relations.values import Relation
from engram_py.memory.writing.merge import Merging
from engram_py.memory.writing.observations import Observations

LISTED = 20
_NAMED = 3

_ITEMS = "select id, change_id, entity, entity_key, observation_id, before, after, undoes from changed"
_OPEN = "undone = 0 and undoes is null"
# The changes that nobody took back, newest first.
_CHANGES = f"""
select id, made_at from changes
where exists (select 1 from changed where change_id = changes.id and {_OPEN})
order by id desc limit :limit
"""
_OF_CHANGE = f"{_ITEMS} where change_id = :change and {_OPEN} order by id desc"
# Of one observation what took something back counts as well, so that undoing twice is redoing.
_OF_OBSERVATION = f"""
{_ITEMS} where undone = 0 and :id in (observation_id, other_id) and change_id = (
    select max(change_id) from changed where undone = 0 and (observation_id = :id or other_id = :id)
)
order by id desc
"""


@dataclass(frozen=True, slots=True)
class _Item:
    """A row of a change, with its columns before and after."""

    id: int
    change: int
    entity: str
    key: str
    observation_id: int | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    undoes: int | None


class Changes:
    """Lists the changes of this machine, and takes them back."""

    def __init__(
        self, store: Store, journal: Journal, observations: Observations, relations: Relations, merging: Merging
    ) -> None:
        self._store, self._journal = store, journal
        self._observations, self._relations, self._merging = observations, relations, merging

    def listed(self, limit: int = LISTED) -> tuple[Made, ...]:
        """Return the latest changes that can be taken back, newest first."""
        rows = self._store.tuples(_CHANGES, limit=limit)
        return tuple(self._made(self._items(_OF_CHANGE, change=number), at) for number, at in rows)

    def undo(self, observation_id: int | None = None, *, change: int | None = None) -> Made | Changed:
        """Take back the newest change of an observation, the ``change`` of that number, or the newest of all.

        Of an observation that nobody changed here, as one that was revised elsewhere, the text before comes back.

        Raises:
            NotFoundError (nothing_to_undo): there is no such change.
            ConflictError (changed_since): what it changed was changed again since. Nothing is taken back then.
            ConflictError (merged_for_good): it merged projects.
            NotFoundError (no_earlier_version), ConflictError (topic_taken): as the change itself.
        """
        with self._store.transaction():
            if observation_id is not None:
                found = kept_observation(self._store, observation_id)
                items = self._items(_OF_OBSERVATION, id=found.id)
                # One that was saved here and revised elsewhere gets its text before, too.
                mine = [item for item in items if not _is_save(item) or item.after == _present(found, item.after)]
                return self._take_back(items) if mine else self._observations.undo(found.id)
            if change is None:
                change = self._store.value(_CHANGES, limit=1)
            items = [] if change is None else self._items(_OF_CHANGE, change=change)
            if not items:
                asked = "of this machine" if change is None else change
                raise NotFoundError(
                    f"no change {asked} is left to take back",
                    hint="`engram undo --list` lists those that can be taken back",
                    code="nothing_to_undo",
                )
            return self._take_back(items)

    def _items(self, sql: str, **values: object) -> list[_Item]:
        rows = self._store.tuples(sql, **values)
        return [
            _Item(one, change, entity, key, row, json.loads(before), json.loads(after), undoes)
            for one, change, entity, key, row, before, after, undoes in rows
        ]

    def _take_back(self, items: Sequence[_Item]) -> Made:
        at = self._store.value("select made_at from changes where id = :id", id=items[0].change)
        done = replace(self._made(items, at), undone=True)
        for item in items:
            last = self._store.value("select max(id) from changed")
            self._put_back(item)
            self._store.execute("update changed set undone = 1 where id = :id", id=item.id)
            self._store.execute("update changed set undone = 0 where id = :id", id=item.undoes)
            self._store.execute("update changed set undoes = :id where id > :last", id=item.id, last=last)
        return done

    def _put_back(self, item: _Item) -> None:
        if item.entity == "projects":
            if not item.before["created"] or len(item.before["names"]) > 1:
                merged = ", ".join(item.before["names"])
                raise ConflictError(
                    f"change {item.change} is not taken back: the sessions, prompts and topics of {merged} and "
                    f"{item.key} are one since they were merged",
                    hint="`engram restore` goes back to a copy of before; `engram move ID --to PROJECT` moves single "
                    "memories; `engram undo --change N` takes back another change of `engram undo --list`",
                    code="merged_for_good",
                )
            self._merging.rename(item.key, item.before["names"][0])
        elif item.entity == "relation":
            row = self._relations.show(item.key)
            self._check(item, {name: getattr(row, name) for name in item.after}, "the verdict")
            self._relations.put_back(item.key, item.before)
        else:
            assert item.observation_id is not None
            self._put_back_observation(item, kept_observation(self._store, item.observation_id))

    def _put_back_observation(self, item: _Item, row: Observation) -> None:
        self._check(item, _present(row, item.after), f"[#{row.id}]")
        before = dict(item.before)
        if _is_save(item):
            self._observations.delete(row.id)
            return
        if "deleted_at" in before and before["deleted_at"] is None:
            self._observations.undelete(row.id)
        if "project" in before:
            self._observations.move(row.id, before.pop("project"))
        if "pinned" in before:
            self._observations.pin(row.id, pinned=before.pop("pinned"))
        if "archived" in before:
            before["lifecycle"] = "archived" if before.pop("archived") else "active"
        clock = before.pop("text", None)
        if deleted := before.pop("deleted_at", None):
            self._observations.delete(row.id)
        if before and not deleted:
            self._observations.put_back(row.id, before)
        if clock is not None:
            self._observations.revert(row.id, table.version_at(self._store, row.id, clock))

    def _check(self, item: _Item, now: Mapping[str, Any], what: str) -> None:
        """Raise ConflictError where a field is not what the change made of it. Salience fades by itself."""
        other = [name for name, value in item.after.items() if now[name] != value and name != "salience"]
        if other:
            raise ConflictError(
                f"change {item.change} is not taken back: {what} was changed again since ({', '.join(other)})",
                hint="`engram history ID` shows its texts, `engram undo --change N` takes back another change of "
                "`engram undo --list`",
                code="changed_since",
            )

    def _made(self, items: Sequence[_Item], at: str) -> Made:
        first = items[-1]
        kinds = {_kind(item) for item in items}
        keys = list(dict.fromkeys(item.key for item in items[::-1]))
        named = tuple(self._name(first.entity, key) for key in keys[:_NAMED])
        ids = tuple(dict.fromkeys(item.observation_id for item in items[::-1] if item.observation_id is not None))
        before, after = _values(first) if len({_values(item) for item in items}) == 1 else ("", "")
        kind = "save" if "save" in kinds else kinds.pop() if len(kinds) == 1 else "change"
        return Made(first.change, at, kind, len(keys), ids, named, before, after)

    def _name(self, entity: str, key: str) -> str:
        if entity == "relation":
            found = relation_table.by_sync_id(self._store, key)
            return _verdict(found) if found else key
        row = table.by_sync_id(self._store, key)
        return f'[#{row.id}] "{row.title}"' if row else key


def _values(item: _Item) -> tuple[str, str]:
    """Return the value of one field before and after, in words: the projects of a move, the types of a retag."""
    kind = _kind(item)
    if kind == "merge":
        return ", ".join(item.before["names"]), item.key
    if kind == "move":
        return item.before["project"], item.after["project"]
    if kind != "change" or len(item.before) > 1:
        return "", ""
    [(name, value)] = item.before.items()
    return f"{name} {value or 'nothing'}", str(item.after[name] or "nothing")


def _is_save(item: _Item) -> bool:
    return "saved" in item.after


def _verdict(found: Relation) -> str:
    return f"[#{found.source_observation}] {found.relation} [#{found.target_observation}]"


def _present(row: Observation, names: Mapping[str, Any]) -> dict[str, Any]:
    derived = {"text": table.text_mark(row.title, row.content), "archived": row.lifecycle == "archived"}
    derived["saved"] = row.deleted_at is None
    return {name: derived[name] if name in derived else getattr(row, name) for name in names}


def _kind(item: _Item) -> str:
    """Return what a change is called by the columns it changed."""
    if item.entity != "observation":
        return {"relation": "verdict", "projects": "merge"}[item.entity]
    after = item.after
    if _is_save(item):
        return "save"
    if "deleted_at" in after:
        return "deletion" if after["deleted_at"] else "restoring"
    if "project" in after:
        return "move"
    if "pinned" in after:
        return "pin" if after["pinned"] else "unpinning"
    if "text" in after:
        return "edit"
    if "archived" in after:
        return "archiving" if after["archived"] else "unarchiving"
    return "change"
