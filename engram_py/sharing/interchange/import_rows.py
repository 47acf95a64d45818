"""Import the rows of an export (``run_import``): a row that is newer than the one here becomes a mutation with a
clock of now, and the replica applies it like one of another machine. An import waits for no row and destroys nothing.

The times of a row say whether it is newer: Engram's files have no clocks, and nobody vouched for those of a stranger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engram_py.base.capture.host_formats import typed
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.errors import EngramError
from engram_py.base.reasons import amount, sentence
from engram_py.base.text.words import derived_terms
from engram_py.base.times import add_months, parse_time, to_text
from engram_py.memory.anchors.values import MOST_ANCHORS
from engram_py.memory.observations.table import COUNTED_HERE
from engram_py.memory.observations.validation import clean_content, clean_line, cut_note
from engram_py.memory.observations.values import REVIEW_MONTHS, TITLE_LIMIT_CHARS
from engram_py.memory.privacy import provenance
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.values import InvalidProjectError, normalize_project
from engram_py.memory.sessions.table import MADE_UP
from engram_py.sharing.interchange.import_ledger import DESTROYED, HERE_ALREADY, ImportLedger
from engram_py.sharing.sync.mutation import version_digest, version_key
from engram_py.sharing.sync.replica.columns import (
    EPOCH,
    anchor_columns,
    derived_id,
    has_verdict,
    moment_of,
    own_columns,
    prepared_of,
    relation_columns,
    session_columns,
    session_key,
    without_nul,
)
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
from engram_py.sharing.sync.replica.parse import OURS, ParsedRow, observation_of
from engram_py.sharing.sync.replica.replica import Replica

if TYPE_CHECKING:
    from engram_py.sharing.interchange.results import Progress
    from engram_py.sharing.interchange.values import ExportIn

_OF_ENGRAM = OwnObservation()
# A row with the same text keeps its origin, whoever repeats it.
_TEXTS = ("title", "content", "type", "topic_key")
_WHOLE_SECOND = len("2026-01-02T03:04:05")
_PROGRESS_EVERY = 100

_SAME_VERSION = "select 1 from observation_versions where observation_id = :id and digest = :digest"
_LINK = """
update memory_relations set superseded_by_relation_id = (select id from memory_relations where sync_id = :by)
where sync_id = :sync_id and superseded_by_relation_id is null
"""


def import_observation(ledger: ImportLedger, row: ObservationIn) -> None:
    counts, sync_id = ledger.counts["observations"], sync_id_of(row)
    if ledger.buried("observation", sync_id):
        counts.skip(DESTROYED)
        return
    here, own = ledger.here("observation", sync_id), ledger.own.observations.get(sync_id)
    updated = moment_of(own.updated_at if own else None, row.updated_at) or EPOCH
    if here is not None and updated <= here["updated_at"]:
        counts.skip(HERE_ALREADY)
        return
    try:
        read = _observation(ledger, row, own, here)
    except EngramError as exc:
        counts.reject(exc.message)
        ledger.warn(f"observation {(row.sync_id or row.title or '')[:80]!r} left out: {exc.message}")
        return
    ledger.take("observation", sync_id, read, is_new=here is None)


def sync_id_of(row: ObservationIn) -> str:
    """Return the identity of a row; of one that came without, the same one each time."""
    return row.sync_id or derived_id("obs", row.session_id, row.created_at, row.title, row.content)


def _observation(ledger: ImportLedger, row: ObservationIn, own: OwnObservation | None, here: Row | None) -> ParsedRow:
    """Raises EngramError: it has no text."""
    new = prepared_of(row, own)
    ledger.redacted += new.redacted
    if new.truncation is not None:
        ledger.warn(sentence(f"observation {new.title[:80]!r}: ", cut_note(new.truncation)))
    project = ledger.project(row.project) if here is None else here["project"]
    columns, derived = observation_of(row, own or _OF_ENGRAM, new, ledger.clean, now=ledger.now)
    columns["session_id"] = ledger.session(row.session_id, project)
    columns["review_after"] = columns["review_after"] or _review_date(row, columns)
    if not ledger.batch.own:  # nobody vouched for what the file says of it
        columns["origin"] = "import"
    if here is not None:
        columns["revision_count"] = max(columns["revision_count"], here["revision_count"] + 1)
        if here["scope"] == "personal":  # what was made personal here stays so, whatever the file knew
            columns["scope"] = "personal"
        if all(here[name] == columns[name] for name in _TEXTS):
            columns["origin"] = here["origin"]
    if own is None:  # 0.2.0 says whether a row is pinned
        keeps = tuple(name for name in OURS if name != "origin" and name not in row.model_fields_set)
        return ParsedRow(project, columns, derived, row.id, keeps=keeps)
    derived |= own_columns(own, COUNTED_HERE, ledger.clean)
    return ParsedRow(project, columns, derived, row.id, _anchors(ledger, row.sync_id or ""))


def _review_date(row: ObservationIn, columns: dict[str, Any]) -> str | None:
    months, moment = REVIEW_MONTHS.get(columns["type"]), parse_time(columns["updated_at"])
    # 0.2.0 says when a review is due, null included; 0.1.0 does not know reviews.
    if "review_after" in row.model_fields_set or months is None or moment is None:
        return None
    return to_text(add_months(moment, months))


def _anchors(ledger: ImportLedger, sync_id: str) -> tuple[dict[str, Any], ...]:
    """Return the anchors that an observation came with; one with an impossible path is left out."""
    offered = ledger.own.anchors.get(sync_id, ())[:MOST_ANCHORS]
    usable = [values for anchor in offered if (values := anchor_columns(anchor, ledger.now))]
    if len(usable) < len(offered):
        files = amount(len(offered) - len(usable), "file")
        ledger.warn(f"left out {files} of observation {sync_id[:80]!r}: not a path in a project")
    return tuple(usable)


def import_version(ledger: ImportLedger, version: OwnVersion) -> None:
    counts, here = ledger.counts["versions"], ledger.here("observation", version.sync_id)
    if here is None:
        counts.skip("their memory is not here")
        return
    try:
        title, hidden = clean_line("title", without_nul(version.title), limit=TITLE_LIMIT_CHARS)
        content, truncation, more = clean_content(without_nul(version.content))
    except EngramError as exc:
        counts.reject(exc.message)
        return
    ledger.redacted += hidden + more
    if truncation is not None:
        ledger.warn(sentence(f"an older text of {title[:80]!r}: ", cut_note(truncation)))
    at = moment_of(version.created_at) or here["created_at"]
    digest = version_digest(at, title, content)
    if ledger.store.row(_SAME_VERSION, id=here["id"], digest=digest):
        counts.skip(HERE_ALREADY)
        return
    text = {"title": title, "content": content, "at": at}
    ledger.take("version", version_key(version.sync_id, digest), (version.sync_id, digest, text), of=version.sync_id)


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
        elif ledger.here(entity, key):
            counts.skip("the row is here, and an import destroys nothing")
        else:
            counts.new += 1
            ledger.bury(entity, key, stone)


def import_session(ledger: ImportLedger, row: SessionIn) -> None:
    """Import a session that is not here, or is here only as a stand-in."""
    counts, key = ledger.counts["sessions"], session_key(row.id)
    here = ledger.here("session", key)
    nothing_new = here is not None and (here["directory"] != MADE_UP or row.directory == MADE_UP)
    if not key:
        counts.reject("no id")
    elif nothing_new or ledger.buried("session", key):
        counts.skip(HERE_ALREADY if nothing_new else DESTROYED)
    else:
        columns = session_columns(row, ledger.own.sessions.get(row.id), ledger.clean, now=ledger.now)
        ledger.take("session", key, ParsedRow(ledger.project(row.project), columns), is_new=here is None)


def import_prompt(ledger: ImportLedger, row: PromptIn) -> None:
    counts = ledger.counts["prompts"]
    sync_id = row.sync_id or derived_id("prompt", row.session_id, row.created_at, row.content)
    buried = ledger.buried("prompt", sync_id)
    if buried or ledger.here("prompt", sync_id):
        counts.skip(DESTROYED if buried else HERE_ALREADY)
        return
    text = ledger.clean(typed(row.content or ""))
    if text is None:
        counts.skip("written by a program" if (row.content or "").strip() else "empty")
        return
    project = ledger.project(row.project)
    columns = {
        "session_id": ledger.session(row.session_id, project),
        "content": text,
        "created_at": moment_of(row.created_at) or ledger.now,
    }
    ledger.take("prompt", sync_id, ParsedRow(project, columns, {"terms": derived_terms(text)}, row.id))


def import_relation(ledger: ImportLedger, row: RelationIn) -> None:
    """Import a relation that is new or newer; without one of its ends it is orphaned."""
    counts = ledger.counts["relations"]
    if not has_verdict(row):
        counts.reject("no verdict")
        ledger.warn(f"relation {row.sync_id[:80]!r} left out: {row.relation[:80]!r} is no verdict")
        return
    names = (row.source_id, row.target_id)
    ends = [ledger.here("observation", name) for name in names]
    whole = all(end or name.startswith("entity:") for end, name in zip(ends, names, strict=True))
    status = (ledger.own.relations.get(row.sync_id) or row).judgment_status if whole else "orphaned"
    here, buried = ledger.here("relation", row.sync_id), ledger.buried("relation", row.sync_id)
    updated = moment_of(row.updated_at, row.created_at) or ledger.now
    # Engram keeps whole seconds. Whatever its age, one that was without an end here and has both now is told again.
    stale = here is not None and updated[:_WHOLE_SECOND] <= here["updated_at"][:_WHOLE_SECOND]
    mended = here is not None and here["judgment_status"] == "orphaned" != status
    if buried or (stale and not mended):
        counts.skip(DESTROYED if buried else HERE_ALREADY)
        return
    project = next((end["project"] for end in ends if end), ledger.project(row.project) if row.project else "")
    columns = relation_columns(row, {}, ledger.clean, now=ledger.now) | {"judgment_status": status}
    ledger.take("relation", row.sync_id, ParsedRow(project, columns), is_new=here is None)


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
            ledger.apply("alias", alias, None, project=project, payload={"project": project, "created_at": ledger.now})


def run_import(
    store: Store,
    journal: Journal,
    document: ExportIn,
    progress: Progress | None,
    *,
    name: str = "",
    trusted: bool = False,
) -> ImportLedger:
    """Import everything and return the counts. ``trusted``: the user says that the file is theirs, or signed it.

    Call inside a transaction.
    """
    source = {"source": provenance.IMPORT, "author": name, "author_name": name}
    with Replica(store, journal).batch(**source, own=trusted) as batch:
        ledger = ImportLedger(batch, document)
        _import_rows(ledger, progress)
    link_superseded(ledger)
    ledger.warn_of_folded_topics()
    return ledger


def _import_rows(ledger: ImportLedger, progress: Progress | None) -> None:
    document = ledger.document
    steps: tuple[tuple[Sequence[Any], Callable[[ImportLedger, Any], None]], ...] = (
        (document.sessions, import_session),
        (document.observations, import_observation),
        (document.prompts, import_prompt),
        ((*document.relations, *document.engram_py.edges), import_relation),
    )
    total = sum(len(rows) for rows, _ in steps)
    done = 0
    import_tombstones(ledger)
    for rows, take in steps:
        for row in rows:
            take(ledger, row)
            done += 1
            if progress and done % _PROGRESS_EVERY == 0:
                progress(done, total)
    for version in document.engram_py.versions:
        import_version(ledger, version)
    import_aliases(ledger)
    if progress:
        progress(total, total)
