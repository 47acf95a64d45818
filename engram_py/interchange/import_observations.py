"""Import observations, versions and anchors: matched by sync id, the newer text wins, the older becomes a version."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engram_py.anchors import table as anchor_table
from engram_py.anchors.values import MOST_ANCHORS
from engram_py.errors import EngramError
from engram_py.interchange.columns import (
    EPOCH,
    anchor_columns,
    derived_id,
    moment_of,
    observation_columns,
    own_columns,
    prepared_of,
    without_nul,
)
from engram_py.interchange.import_ledger import DESTROYED, HERE_ALREADY, Ledger
from engram_py.observations import table
from engram_py.observations.columns import COUNTED_HERE, OWN
from engram_py.observations.validation import Prepared, clean_content, clean_line, cut_note
from engram_py.observations.values import REVIEW_MONTHS, TITLE_LIMIT_CHARS, Observation
from engram_py.projects.merge import fold_topic
from engram_py.sync.mutation import chosen_lifecycle
from engram_py.times import add_months, parse_time, to_text

if TYPE_CHECKING:
    from engram_py.interchange.values import ObservationIn, OwnObservation, OwnVersion

# A row whose columns of these are as they were is still of whom it was.
_SPOKEN = ("title", "content", "type", "topic_key", "aliases", "scope", "pinned")


def import_observation(ledger: Ledger, row: ObservationIn) -> None:
    counts = ledger.counts["observations"]
    sync_id = sync_id_of(row)
    if ledger.buried("observation", sync_id):
        counts.skip(DESTROYED)
        return
    known = table.by_sync_id(ledger.store, sync_id)
    updated = moment_of(getattr(_own(ledger, row), "updated_at", None), row.updated_at) or EPOCH
    if known is not None and updated <= known.updated_at:
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
        ledger.warn(f"observation {new.title[:80]!r}: {cut_note(new.truncation)}")
    if known is None:
        _insert(ledger, sync_id, row, new)
        counts.new += 1
    else:
        _overwrite(ledger, known, row, new)
        counts.newer += 1


def sync_id_of(row: ObservationIn) -> str:
    """Return the identity of a row; of one that came without, the same one each time."""
    return row.sync_id or derived_id("obs", row.session_id, row.created_at, row.title, row.content)


def import_versions(ledger: Ledger) -> None:
    """Import older texts from our block, in the order they were written among those that are here."""
    versions = sorted(ledger.own.versions, key=lambda one: (one.sync_id, one.version))
    for sync_id, older in groupby(versions, key=lambda one: one.sync_id):
        known = table.by_sync_id(ledger.store, sync_id)
        if known is not None:
            _merge_versions(ledger, known, [*_cleaned(ledger, known, older)])
        else:
            ledger.counts["versions"].skip("their memory is not here", rows=len([*older]))


def _cleaned(ledger: Ledger, known: Observation, versions: Iterator[OwnVersion]) -> Iterator[tuple[str, str, str]]:
    for version in versions:
        try:
            title, hidden = clean_line("title", without_nul(version.title), limit=TITLE_LIMIT_CHARS)
            content, truncation, more = clean_content(without_nul(version.content))
        except EngramError as exc:
            ledger.counts["versions"].reject(exc.message)
            continue
        ledger.redacted += hidden + more
        if truncation is not None:
            ledger.warn(f"an older text of {title[:80]!r}: {cut_note(truncation)}")
        yield moment_of(version.created_at) or known.created_at, title, content


def _merge_versions(ledger: Ledger, known: Observation, offered: list[tuple[str, str, str]]) -> None:
    rows = ledger.store.rows(
        "select * from observation_versions where observation_id = :id order by version", id=known.id
    )
    present = {(row["created_at"], row["title"], row["content"]): (row["clock"], row["arrival"]) for row in rows}
    missing = {key: (ledger.clock, ledger.arrival("version", known.sync_id)) for key in offered if key not in present}
    ledger.counts["versions"].new += len(missing)
    ledger.counts["versions"].skip(HERE_ALREADY, rows=len(offered) - len(missing))
    if not missing:
        return
    # A stable sort: of one moment, what was here comes first and each side keeps its order.
    merged = sorted((present | missing).items(), key=lambda one: one[0][0])
    ledger.store.execute("delete from observation_versions where observation_id = :id", id=known.id)
    for number, ((created_at, title, content), (clock, arrival)) in enumerate(merged, 1):
        values = {"observation_id": known.id, "version": number, "title": title, "content": content}
        more = {"created_at": created_at, "clock": clock, "arrival": arrival}
        ledger.store.insert("observation_versions", values | more)


def _own(ledger: Ledger, row: ObservationIn) -> OwnObservation | None:
    return ledger.own.observations.get(row.sync_id or "")


def _insert(ledger: Ledger, sync_id: str, row: ObservationIn, new: Prepared) -> None:
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


def _overwrite(ledger: Ledger, known: Observation, row: ObservationIn, new: Prepared) -> None:
    if (known.title, known.content) != (new.title, new.content):
        table.keep_version(ledger.store, known, clock=ledger.clock)
    columns = _columns(ledger, row, new)
    columns["revision_count"] = max(columns["revision_count"], known.revision_count + 1)
    if any(getattr(known, name) != columns[name] for name in _SPOKEN):
        columns["arrival"] = ledger.arrival("observation", known.sync_id)
    rival = _rival(ledger, new, columns, known.project)
    ledger.store.update("observations", {"id": known.id}, columns)
    import_anchors(ledger, known.id, known.sync_id)
    ledger.changed("observation", known.sync_id, known.project)
    if rival is not None and rival.id != known.id:
        _fold(ledger, rival, known.id)


def _rival(ledger: Ledger, new: Prepared, columns: dict[str, Any], project: str) -> Observation | None:
    """Return the live observation that holds the same topic here."""
    if not new.topic_key or columns["deleted_at"] is not None:
        return None
    return table.live_topic(ledger.store, topic_key=new.topic_key, project=project, scope=columns["scope"])


def _fold(ledger: Ledger, rival: Observation, row_id: int) -> None:
    imported = table.by_id(ledger.store, row_id)
    assert imported is not None
    ledger.queue()
    live = fold_topic(ledger.store, ledger.journal, rival, imported)
    gone = rival if live.id == imported.id else imported
    ledger.warn(f"topic {live.topic_key}: [#{live.id}] is later than [#{gone.id}], whose text is its version now")


def _columns(ledger: Ledger, row: ObservationIn, new: Prepared) -> dict[str, Any]:
    own = _own(ledger, row)
    columns = observation_columns(row, own, new, now=ledger.now)
    columns["review_after"] = moment_of(row.review_after) or _review_date(new.type, columns["updated_at"], row)
    columns["origin"] = own.origin if own and ledger.trusted else "import"
    columns["clock"] = ledger.clock
    if own:
        columns |= own_columns(own, OWN | COUNTED_HERE, ledger.clean)
        columns["lifecycle"] = chosen_lifecycle(own.lifecycle)
    return columns


def _review_date(kind: str, updated: str, row: ObservationIn) -> str | None:
    months, moment = REVIEW_MONTHS.get(kind), parse_time(updated)
    # 0.2.0 says when a review is due, null included; 0.1.0 does not know reviews.
    if "review_after" in row.model_fields_set or months is None or moment is None:
        return None
    return to_text(add_months(moment, months))


def import_anchors(ledger: Ledger, row_id: int, sync_id: str) -> None:
    """Give an imported observation the anchors it came with; one with an impossible path is left out."""
    offered = ledger.own.anchors.get(sync_id, ())[:MOST_ANCHORS]
    usable = [values for one in offered if (values := anchor_columns(one, ledger.now))]
    if len(usable) < len(offered):
        ledger.warn(
            f"{len(offered) - len(usable)} file(s) of observation {sync_id[:80]!r} left out: no path in a project"
        )
    if usable or ledger.own.anchors:
        anchor_table.replace(ledger.store, row_id, usable)
