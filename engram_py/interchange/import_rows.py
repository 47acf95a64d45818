"""Import sessions, prompts, relations, aliases and tombstones; ``run_import`` does a whole import in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engram_py.capture.host_formats import typed
from engram_py.database import journal
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.entities.edges import is_edge
from engram_py.interchange.columns import derived_id, moment_of, session_key
from engram_py.interchange.import_ledger import (
    DESTROYED,
    HERE_ALREADY,
    RECOVERED_SESSION,
    Ledger,
)
from engram_py.interchange.import_observations import import_observation, import_versions
from engram_py.interchange.results import Progress
from engram_py.observations import table as observation_table
from engram_py.projects import table as project_table
from engram_py.projects.names import normalize_project
from engram_py.projects.values import InvalidProjectError
from engram_py.relations import table as relation_table
from engram_py.relations.values import VERBS
from engram_py.sessions import table as session_table
from engram_py.text.words import derived_terms

if TYPE_CHECKING:
    from engram_py.interchange.values import ExportIn, OwnTombstone, PromptIn, PromptTombstoneIn, RelationIn, SessionIn


_MODES = ("shared", "project_owned")
_RELATION_VERBS = frozenset({*VERBS, "pending"})
_WHOLE_SECOND = len("2026-01-02T03:04:05")

# Whether a thing that a tombstone names is here.
_LIVE = {entity: f"select 1 from {table} where {column} = :key" for entity, (table, column) in journal.TABLES.items()}


_LINK = """
update memory_relations set superseded_by_relation_id = (select id from memory_relations where sync_id = :by)
where sync_id = :sync_id and superseded_by_relation_id is null
"""


def import_tombstones(ledger: Ledger) -> None:
    """Take over what was destroyed elsewhere, so that it does not come back with an older file.

    What is here stays: a file from somewhere else never destroys anything.
    """
    counts = ledger.counts["tombstones"]
    stones: list[tuple[str, str, PromptTombstoneIn | OwnTombstone]] = []
    stones += [("prompt", stone.sync_id, stone) for stone in ledger.document.prompt_tombstones]
    stones += [(stone.entity, stone.entity_key, stone) for stone in ledger.own.tombstones]
    for entity, key, stone in stones:
        if ledger.buried(entity, key):
            counts.skip("known already")
        elif ledger.store.row(_LIVE[entity], key=key):
            counts.skip("what they name is here, and an import destroys nothing")
        else:
            counts.new += 1
            ledger.add_tombstone(entity, key)
            names = {"entity": entity, "entity_key": key, "project": stone.project or "", "clock": ledger.clock}
            deleted_at = moment_of(stone.deleted_at) or ledger.now
            more = {"session_id": stone.session_id, "deleted_at": deleted_at}
            journal.add_tombstone(ledger.store, {**names, **more})
            journal.enqueue(ledger.store, **names, op="delete", occurred_at=ledger.now)


def import_session(ledger: Ledger, row: SessionIn) -> None:
    """Import a session that is not here, or is here only as a stand-in."""
    counts = ledger.counts["sessions"]
    key = session_key(row.id)
    known = session_table.by_id(ledger.store, key)
    nothing_new = known is not None and (known.directory != RECOVERED_SESSION or row.directory == RECOVERED_SESSION)
    if not key:
        counts.reject("no id")
        return
    if nothing_new or ledger.buried("session", key):
        counts.skip(HERE_ALREADY if nothing_new else DESTROYED)
        return
    values = _session_values(ledger, row)
    if known is None:
        ledger.insert_session(key, ledger.project(row.project), values)
        counts.new += 1
    else:
        more = {"clock": ledger.clock, "arrival": ledger.arrival("session", key)}
        ledger.store.update("sessions", {"id": key}, values | more)
        ledger.changed("session", key, known.project)
        counts.newer += 1


def _session_values(ledger: Ledger, row: SessionIn) -> dict[str, str | None]:
    own = ledger.own.sessions.get(row.id)
    precise = own.model_dump() if own else {}
    return {
        "directory": ledger.clean(row.directory) or "",
        "agent": ledger.clean(precise.get("agent")) or "",
        "ownership_mode": row.ownership_mode if row.ownership_mode in _MODES else "shared",
        "started_at": moment_of(precise.get("started_at")) or moment_of(row.started_at) or ledger.now,
        "ended_at": moment_of(precise.get("ended_at")) or moment_of(row.ended_at),
        "summary": ledger.clean(row.summary),
        "updated_at": moment_of(precise.get("updated_at")) or ledger.now,
    }


def import_prompt(ledger: Ledger, row: PromptIn) -> None:
    counts = ledger.counts["prompts"]
    sync_id = row.sync_id or derived_id("prompt", row.session_id, row.created_at, row.content)
    buried = ledger.buried("prompt", sync_id)
    if buried or ledger.store.row(_LIVE["prompt"], key=sync_id):
        counts.skip(DESTROYED if buried else HERE_ALREADY)
        return
    text = ledger.clean(typed(row.content or ""))
    if text is None:
        counts.skip("written by a program" if (row.content or "").strip() else "empty")
        return
    project = ledger.project(row.project)
    values = {
        "id": ledger.prompt_ids.of(row.id),
        "sync_id": sync_id,
        "session_id": ledger.parent(row.session_id, project),
        "project": project,
        "content": text,
        "terms": derived_terms(text),
        "created_at": moment_of(row.created_at) or ledger.now,
        "clock": ledger.clock,
        "arrival": ledger.arrival("prompt", sync_id),
    }
    ledger.store.insert("user_prompts", values)
    ledger.changed("prompt", sync_id, project)
    counts.new += 1


def import_relation(ledger: Ledger, row: RelationIn) -> None:
    """Import a relation that is new or newer; without one of its ends it is orphaned."""
    counts = ledger.counts["relations"]
    if row.relation not in _RELATION_VERBS and not is_edge(row.source_id, row.relation, row.target_id):
        counts.reject("no verdict")
        ledger.warn(f"relation {row.sync_id[:80]!r} left out: {row.relation[:80]!r} is no verdict")
        return
    known = relation_table.by_sync_id(ledger.store, row.sync_id)
    updated = moment_of(row.updated_at) or moment_of(row.created_at) or ledger.now
    ends = (row.source_id, row.target_id)
    whole = all(end.startswith("entity:") or ledger.store.row(_LIVE["observation"], key=end) for end in ends)
    own = ledger.own.relations.get(row.sync_id)
    status = (own or row).judgment_status if whole else "orphaned"
    # Engram keeps whole seconds. Whatever its age, one that was without an end here and has both now is told again.
    stale = known is not None and updated[:_WHOLE_SECOND] <= known.updated_at[:_WHOLE_SECOND]
    if known is not None and known.judgment_status == "orphaned" and status != "orphaned":
        stale = False
    buried = ledger.buried("relation", row.sync_id)
    if stale or buried:
        counts.skip(DESTROYED if buried else HERE_ALREADY)
        return
    values = _relation_values(ledger, row, status=status, updated=updated)
    if known is None:
        ledger.store.insert("memory_relations", values)
        counts.new += 1
    else:
        ledger.store.update("memory_relations", {"id": known.id}, values)
        counts.newer += 1
    ledger.changed("relation", row.sync_id, values["project"])


def _relation_values(ledger: Ledger, row: RelationIn, *, status: str, updated: str) -> dict[str, Any]:
    ends = [observation_table.by_sync_id(ledger.store, end) for end in (row.source_id, row.target_id)]
    said = ("reason", "evidence", "marked_by_actor", "marked_by_kind", "marked_by_model")
    return {
        **row.model_dump(include={"sync_id", "source_id", "target_id", "relation", "confidence", "session_id"}),
        **{name: ledger.clean(getattr(row, name)) for name in said},
        "judgment_status": status,
        "project": next((end.project for end in ends if end), ledger.project(row.project) if row.project else ""),
        "superseded_at": moment_of(row.superseded_at),
        "created_at": moment_of(row.created_at) or updated,
        "updated_at": updated,
        "clock": ledger.clock,
        "arrival": ledger.arrival("relation", row.sync_id),
    }


def link_superseded(ledger: Ledger) -> None:
    """Point relations at the ones that replaced them, which may stand later in the file."""
    for row in ledger.document.relations:
        if row.superseded_by_relation_sync_id:
            ledger.store.execute(_LINK, sync_id=row.sync_id, by=row.superseded_by_relation_sync_id)


def import_aliases(ledger: Ledger) -> None:
    """Import aliases whose name is no project or alias here."""
    for name, target in ledger.own.aliases.items():
        try:
            alias = normalize_project(name)
        except InvalidProjectError as exc:
            ledger.warn(f"alias left out: {exc.message}")
            continue
        taken = project_table.exists(ledger.store, alias) or project_table.target_of_alias(ledger.store, alias)
        if taken or ledger.buried("alias", alias):
            continue
        project = ledger.project(target)
        if project != alias:
            values = {"alias": alias, "project": project, "created_at": ledger.now, "clock": ledger.clock}
            ledger.store.insert("project_aliases", values)
            ledger.changed("alias", alias, project)


_PROGRESS_EVERY = 100


def run_import(
    store: Store,
    journal: Journal,
    document: ExportIn,
    progress: Progress | None,
    *,
    name: str = "",
    trusted: bool = False,
) -> Ledger:
    """Import everything and return the counts; ``trusted`` as in ``Ledger``. Call inside a transaction."""
    ledger = Ledger(store, journal, document, name=name, trusted=trusted)
    steps: tuple[tuple[Sequence[Any], Callable[[Ledger, Any], None]], ...] = (
        (document.sessions, import_session),
        (document.observations, import_observation),
        (document.prompts, import_prompt),
        ((*document.relations, *document.engram_py.edges), import_relation),
    )
    for (kind, reason), rows_left in document.left_out.items():
        counts = ledger.counts.get("relations" if kind == "edges" else kind)
        if counts is not None:
            counts.read += rows_left
            counts.reject(reason, rows=rows_left)
    total = sum(len(rows) for rows, _ in steps)
    done = 0
    import_tombstones(ledger)
    for rows, take in steps:
        for row in rows:
            take(ledger, row)
            done += 1
            if progress and done % _PROGRESS_EVERY == 0:
                progress(done, total)
    import_versions(ledger)
    link_superseded(ledger)
    import_aliases(ledger)
    ledger.queue()
    relation_table.settle_all(store)
    if progress:
        progress(total, total)
    return ledger
