"""Import the rows of an export, in order (``run_import``): observations with their versions and anchors, sessions,
prompts, relations, aliases and tombstones. Rows are matched by sync id: the newer text wins, the older becomes a
version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engram_py.base.capture.host_formats import typed
from engram_py.base.database import mutation_queue
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.errors import EngramError
from engram_py.base.reasons import amount, sentence
from engram_py.base.text.words import derived_terms
from engram_py.base.times import add_months, parse_time, to_text
from engram_py.memory.anchors import table as anchor_table
from engram_py.memory.anchors.values import MOST_ANCHORS
from engram_py.memory.entities.values import is_edge
from engram_py.memory.observations import table
from engram_py.memory.observations.table import COUNTED_HERE, OWN_COLUMNS, OWN_SOMETIMES
from engram_py.memory.observations.validation import Prepared, clean_content, clean_line, cut_note
from engram_py.memory.observations.values import REVIEW_MONTHS, TITLE_LIMIT_CHARS, Observation, chosen_lifecycle
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.values import InvalidProjectError, normalize_project
from engram_py.memory.relations import table as relation_table
from engram_py.memory.relations.values import VERBS
from engram_py.memory.sessions import table as session_table
from engram_py.memory.writing.merge import fold_topic
from engram_py.sharing.interchange.import_ledger import DESTROYED, HERE_ALREADY, RECOVERED_SESSION, ImportLedger
from engram_py.sharing.interchange.results import Progress
from engram_py.sharing.sync.replica.columns import (
    EPOCH,
    anchor_columns,
    derived_id,
    moment_of,
    observation_columns,
    own_columns,
    prepared_of,
    session_columns,
    session_key,
    without_nul,
)

if TYPE_CHECKING:
    from engram_py.sharing.interchange.values import ExportIn
    from engram_py.sharing.sync.replica.models import (
        ObservationIn,
        OwnObservation,
        OwnTombstone,
        OwnVersion,
        PromptIn,
        PromptTombstoneIn,
        RelationIn,
        SessionIn,
    )


# A row whose columns of these are as they were is still of whom it was.
_SPOKEN = ("title", "content", "type", "topic_key", "aliases", "scope", "pinned")


def import_observation(ledger: ImportLedger, row: ObservationIn) -> None:
    counts = ledger.counts["observations"]
    sync_id = sync_id_of(row)
    if ledger.buried("observation", sync_id):
        counts.skip(DESTROYED)
        return
    here = table.by_sync_id(ledger.store, sync_id)
    updated = moment_of(getattr(_own(ledger, row), "updated_at", None), row.updated_at) or EPOCH
    if here is not None and updated <= here.updated_at:
        counts.skip(HERE_ALREADY)
        return
    try:
        new = prepared_of(row, _own(ledger, row))
    except EngramError as exc:
        counts.reject(exc.message)
        ledger.warn(f"observation {(row.sync_id or row.title or '')[:80]!r} left out: {exc.message}")
        return
    ledger.redacted += new.redacted
    if new.truncation is not None:
        ledger.warn(sentence(f"observation {new.title[:80]!r}: ", cut_note(new.truncation)))
    if here is None:
        _insert(ledger, sync_id, row, new)
        counts.new += 1
    else:
        _overwrite(ledger, here, row, new)
        counts.newer += 1


def sync_id_of(row: ObservationIn) -> str:
    """Return the identity of a row; of one that came without, the same one each time."""
    return row.sync_id or derived_id("obs", row.session_id, row.created_at, row.title, row.content)


def import_versions(ledger: ImportLedger) -> None:
    """Import older texts from our block, in the order they were written among those that are here."""
    versions = sorted(ledger.own.versions, key=lambda version: (version.sync_id, version.version))
    for sync_id, older in groupby(versions, key=lambda version: version.sync_id):
        here = table.by_sync_id(ledger.store, sync_id)
        if here is not None:
            _merge_versions(ledger, here, [*_cleaned(ledger, here, older)])
        else:
            ledger.counts["versions"].skip("their memory is not here", rows=len([*older]))


def _cleaned(ledger: ImportLedger, here: Observation, versions: Iterator[OwnVersion]) -> Iterator[tuple[str, str, str]]:
    for version in versions:
        try:
            title, hidden = clean_line("title", without_nul(version.title), limit=TITLE_LIMIT_CHARS)
            content, truncation, more = clean_content(without_nul(version.content))
        except EngramError as exc:
            ledger.counts["versions"].reject(exc.message)
            continue
        ledger.redacted += hidden + more
        if truncation is not None:
            ledger.warn(sentence(f"an older text of {title[:80]!r}: ", cut_note(truncation)))
        yield moment_of(version.created_at) or here.created_at, title, content


def _merge_versions(ledger: ImportLedger, here: Observation, offered: list[tuple[str, str, str]]) -> None:
    rows = ledger.store.rows(
        "select * from observation_versions where observation_id = :id order by version", id=here.id
    )
    present = {(row["created_at"], row["title"], row["content"]): (row["clock"], row["arrival"]) for row in rows}
    missing = {key: (ledger.clock, ledger.arrival("version", here.sync_id)) for key in offered if key not in present}
    ledger.counts["versions"].new += len(missing)
    ledger.counts["versions"].skip(HERE_ALREADY, rows=len(offered) - len(missing))
    if not missing:
        return
    # A stable sort: of one moment, what was here comes first and each side keeps its order.
    merged = sorted((present | missing).items(), key=lambda entry: entry[0][0])
    ledger.store.execute("delete from observation_versions where observation_id = :id", id=here.id)
    for number, ((created_at, title, content), (clock, arrival)) in enumerate(merged, 1):
        values = {"observation_id": here.id, "version": number, "title": title, "content": content}
        more = {"created_at": created_at, "clock": clock, "arrival": arrival}
        ledger.store.insert("observation_versions", values | more)


def _own(ledger: ImportLedger, row: ObservationIn) -> OwnObservation | None:
    return ledger.own.observations.get(row.sync_id or "")


def _insert(ledger: ImportLedger, sync_id: str, row: ObservationIn, new: Prepared) -> None:
    project = ledger.project(row.project)
    columns = _columns(ledger, row, new)
    rival = _rival(ledger, new, columns, project)
    columns |= {"sync_id": sync_id, "session_id": ledger.parent(row.session_id, project), "project": project}
    columns["id"] = ledger.observation_ids.of(row.id)
    columns["arrival"] = ledger.arrival("observation", sync_id)
    row_id = ledger.store.insert("observations", columns)
    import_anchors(ledger, row_id, sync_id)
    ledger.changed("observation", sync_id, project)
    if rival is not None:
        _fold(ledger, rival, row_id)


def _overwrite(ledger: ImportLedger, here: Observation, row: ObservationIn, new: Prepared) -> None:
    if (here.title, here.content) != (new.title, new.content):
        table.keep_version(ledger.store, here, clock=ledger.clock)
    columns = _columns(ledger, row, new)
    columns["revision_count"] = max(columns["revision_count"], here.revision_count + 1)
    guards = ledger.store.value("select guards from observations where id = :id", id=here.id)
    if any(getattr(here, name) != columns[name] for name in _SPOKEN) or columns.get("guards") not in (None, guards):
        columns["arrival"] = ledger.arrival("observation", here.sync_id)
    rival = _rival(ledger, new, columns, here.project)
    ledger.store.update("observations", {"id": here.id}, columns)
    import_anchors(ledger, here.id, here.sync_id)
    ledger.changed("observation", here.sync_id, here.project)
    if rival is not None and rival.id != here.id:
        _fold(ledger, rival, here.id)


def _rival(ledger: ImportLedger, new: Prepared, columns: dict[str, Any], project: str) -> Observation | None:
    """Return the live observation that holds the same topic here."""
    if not new.topic_key or columns["deleted_at"] is not None:
        return None
    return table.live_topic(ledger.store, topic_key=new.topic_key, project=project, scope=columns["scope"])


def _fold(ledger: ImportLedger, rival: Observation, row_id: int) -> None:
    imported = table.by_id(ledger.store, row_id)
    assert imported is not None
    ledger.queue()
    live = fold_topic(ledger.store, ledger.journal, rival, imported)
    gone = rival if live.id == imported.id else imported
    ledger.warn(f"topic {live.topic_key}: [#{live.id}] is later; the text of [#{gone.id}] is a version of it now")


def _columns(ledger: ImportLedger, row: ObservationIn, new: Prepared) -> dict[str, Any]:
    own = _own(ledger, row)
    columns = observation_columns(row, own, new, now=ledger.now)
    columns["review_after"] = moment_of(row.review_after) or _review_date(new.type, columns["updated_at"], row)
    columns["origin"] = own.origin if own and ledger.trusted else "import"
    columns["clock"] = ledger.clock
    if own:
        columns |= own_columns(own, OWN_COLUMNS | OWN_SOMETIMES | COUNTED_HERE, ledger.clean)
        columns["lifecycle"] = chosen_lifecycle(own.lifecycle)
    return columns


def _review_date(kind: str, updated: str, row: ObservationIn) -> str | None:
    months, moment = REVIEW_MONTHS.get(kind), parse_time(updated)
    # 0.2.0 says when a review is due, null included; 0.1.0 does not know reviews.
    if "review_after" in row.model_fields_set or months is None or moment is None:
        return None
    return to_text(add_months(moment, months))


def import_anchors(ledger: ImportLedger, row_id: int, sync_id: str) -> None:
    """Give an imported observation the anchors it came with; one with an impossible path is left out."""
    offered = ledger.own.anchors.get(sync_id, ())[:MOST_ANCHORS]
    usable = [values for anchor in offered if (values := anchor_columns(anchor, ledger.now))]
    if len(usable) < len(offered):
        ledger.warn(
            f"left out {amount(len(offered) - len(usable), 'file')} of observation {sync_id[:80]!r}: "
            "not a path in a project"
        )
    if usable or ledger.own.anchors:
        anchor_table.replace(ledger.store, row_id, usable)


_RELATION_VERBS = frozenset({*VERBS, "pending"})
_WHOLE_SECOND = len("2026-01-02T03:04:05")

# Whether a thing that a tombstone names is here.
_LIVE = {
    entity: f"select 1 from {table} where {column} = :key" for entity, (table, column) in mutation_queue.TABLES.items()
}


_LINK = """
update memory_relations set superseded_by_relation_id = (select id from memory_relations where sync_id = :by)
where sync_id = :sync_id and superseded_by_relation_id is null
"""


def import_tombstones(ledger: ImportLedger) -> None:
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
            counts.skip("the row is here, and an import destroys nothing")
        else:
            counts.new += 1
            ledger.add_tombstone(entity, key)
            names = {"entity": entity, "entity_key": key, "project": stone.project or "", "clock": ledger.clock}
            deleted_at = moment_of(stone.deleted_at) or ledger.now
            more = {"session_id": stone.session_id, "deleted_at": deleted_at}
            mutation_queue.add_tombstone(ledger.store, {**names, **more})
            mutation_queue.enqueue(ledger.store, **names, op="delete", occurred_at=ledger.now)


def import_session(ledger: ImportLedger, row: SessionIn) -> None:
    """Import a session that is not here, or is here only as a stand-in."""
    counts = ledger.counts["sessions"]
    key = session_key(row.id)
    here = session_table.by_id(ledger.store, key)
    nothing_new = here is not None and (here.directory != RECOVERED_SESSION or row.directory == RECOVERED_SESSION)
    if not key:
        counts.reject("no id")
        return
    if nothing_new or ledger.buried("session", key):
        counts.skip(HERE_ALREADY if nothing_new else DESTROYED)
        return
    own = ledger.own.sessions.get(row.id)
    values = session_columns(row, own, ledger.clean, now=ledger.now)
    values["updated_at"] = moment_of(getattr(own, "updated_at", None)) or ledger.now
    if here is None:
        ledger.insert_session(key, ledger.project(row.project), values)
        counts.new += 1
    else:
        more = {"clock": ledger.clock, "arrival": ledger.arrival("session", key)}
        ledger.store.update("sessions", {"id": key}, values | more)
        ledger.changed("session", key, here.project)
        counts.newer += 1


def import_prompt(ledger: ImportLedger, row: PromptIn) -> None:
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


def import_relation(ledger: ImportLedger, row: RelationIn) -> None:
    """Import a relation that is new or newer; without one of its ends it is orphaned."""
    counts = ledger.counts["relations"]
    if row.relation not in _RELATION_VERBS and not is_edge(row.source_id, row.relation, row.target_id):
        counts.reject("no verdict")
        ledger.warn(f"relation {row.sync_id[:80]!r} left out: {row.relation[:80]!r} is no verdict")
        return
    here = relation_table.by_sync_id(ledger.store, row.sync_id)
    updated = moment_of(row.updated_at) or moment_of(row.created_at) or ledger.now
    ends = (row.source_id, row.target_id)
    whole = all(end.startswith("entity:") or ledger.store.row(_LIVE["observation"], key=end) for end in ends)
    own = ledger.own.relations.get(row.sync_id)
    status = (own or row).judgment_status if whole else "orphaned"
    # Engram keeps whole seconds. Whatever its age, one that was without an end here and has both now is told again.
    stale = here is not None and updated[:_WHOLE_SECOND] <= here.updated_at[:_WHOLE_SECOND]
    if here is not None and here.judgment_status == "orphaned" and status != "orphaned":
        stale = False
    buried = ledger.buried("relation", row.sync_id)
    if stale or buried:
        counts.skip(DESTROYED if buried else HERE_ALREADY)
        return
    values = _relation_values(ledger, row, status=status, updated=updated)
    if here is None:
        ledger.store.insert("memory_relations", values)
        counts.new += 1
    else:
        ledger.store.update("memory_relations", {"id": here.id}, values)
        counts.newer += 1
    ledger.changed("relation", row.sync_id, values["project"])


def _relation_values(ledger: ImportLedger, row: RelationIn, *, status: str, updated: str) -> dict[str, Any]:
    ends = [table.by_sync_id(ledger.store, end) for end in (row.source_id, row.target_id)]
    texts = ("reason", "evidence", "marked_by_actor", "marked_by_kind", "marked_by_model")
    return {
        **row.model_dump(include={"sync_id", "source_id", "target_id", "relation", "confidence", "session_id"}),
        **{name: ledger.clean(getattr(row, name)) for name in texts},
        "judgment_status": status,
        "project": next((end.project for end in ends if end), ledger.project(row.project) if row.project else ""),
        "superseded_at": moment_of(row.superseded_at),
        "created_at": moment_of(row.created_at) or updated,
        "updated_at": updated,
        "clock": ledger.clock,
        "arrival": ledger.arrival("relation", row.sync_id),
    }


def link_superseded(ledger: ImportLedger) -> None:
    """Point relations at the ones that replaced them, which may stand later in the file."""
    for row in ledger.document.relations:
        if row.superseded_by_relation_sync_id:
            ledger.store.execute(_LINK, sync_id=row.sync_id, by=row.superseded_by_relation_sync_id)


def import_aliases(ledger: ImportLedger) -> None:
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
) -> ImportLedger:
    """Import everything and return the counts; ``trusted`` as in ``ImportLedger``. Call inside a transaction."""
    ledger = ImportLedger(store, journal, document, name=name, trusted=trusted)
    steps: tuple[tuple[Sequence[Any], Callable[[ImportLedger, Any], None]], ...] = (
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
