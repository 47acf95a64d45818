"""Import observations, versions and anchors: matched by sync id, the newer text wins, the older becomes a version."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from engram_py.anchors import table as anchor_table
from engram_py.anchors.values import LINE_LIMIT, MOST_ANCHORS, NOT_READ
from engram_py.anchors.worktree import is_relative
from engram_py.capture.redact import redact
from engram_py.errors import EngramError
from engram_py.interchange.import_file import moment_of
from engram_py.interchange.import_ledger import DESTROYED, EPOCH, HERE_ALREADY, Ledger, derived_id, without_nul
from engram_py.observations import table
from engram_py.observations.columns import COUNTED_HERE, OWN
from engram_py.observations.validation import Prepared, clean_content, clean_line, prepare
from engram_py.observations.values import REVIEW_MONTHS, SCOPES, TITLE_LIMIT_CHARS, Draft, Observation
from engram_py.projects.merge import fold_topic
from engram_py.sync.mutation import chosen_lifecycle
from engram_py.times import add_months, parse_time, to_text

if TYPE_CHECKING:
    from engram_py.interchange.values import ObservationIn, OwnAnchor, OwnVersion


_MADE_TITLE_CHARS = 80
_TITLE_READ_CHARS = 4 * TITLE_LIMIT_CHARS


def import_observation(ledger: Ledger, row: ObservationIn) -> None:
    counts = ledger.counts["observations"]
    sync_id = sync_id_of(row)
    if ledger.buried("observation", sync_id):
        counts.skip(DESTROYED)
        return
    known = table.by_sync_id(ledger.store, sync_id)
    if known is not None and (_time(ledger, row, "updated_at") or EPOCH) <= known.updated_at:
        counts.skip(HERE_ALREADY)
        return
    try:
        new = _prepared(ledger, row)
    except EngramError as exc:
        counts.reject(exc.message)
        ledger.warn(f"observation {(row.sync_id or row.title or '')[:80]!r} left out: {exc.message}")
        return
    ledger.redacted += new.redacted
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
            content, _, more = clean_content(without_nul(version.content))
        except EngramError as exc:
            ledger.counts["versions"].reject(exc.message)
            continue
        ledger.redacted += hidden + more
        yield moment_of(version.created_at) or known.created_at, title, content


def _merge_versions(ledger: Ledger, known: Observation, offered: list[tuple[str, str, str]]) -> None:
    rows = ledger.store.rows(
        "select * from observation_versions where observation_id = :id order by version", id=known.id
    )
    present = {(row["created_at"], row["title"], row["content"]): row["clock"] for row in rows}
    missing = {key: ledger.clock for key in offered if key not in present}
    ledger.counts["versions"].new += len(missing)
    ledger.counts["versions"].skip(HERE_ALREADY, rows=len(offered) - len(missing))
    if not missing:
        return
    # A stable sort: of one moment, what was here comes first and each side keeps its order.
    merged = sorted((present | missing).items(), key=lambda one: one[0][0])
    ledger.store.execute("delete from observation_versions where observation_id = :id", id=known.id)
    for number, ((created_at, title, content), clock) in enumerate(merged, 1):
        values = {"observation_id": known.id, "version": number, "title": title, "content": content}
        ledger.store.insert("observation_versions", values | {"created_at": created_at, "clock": clock})


def _prepared(ledger: Ledger, row: ObservationIn) -> Prepared:
    own = ledger.own.observations.get(row.sync_id or "")
    content, title = without_nul(row.content), without_nul(row.title)
    if title.strip():
        # Redacted before it is cut, so that no half of a secret stands at the end.
        title = redact(title[:_TITLE_READ_CHARS]).text[:TITLE_LIMIT_CHARS] if len(title) > TITLE_LIMIT_CHARS else title
    else:  # older Engrams accepted rows without a title
        title = " ".join(clean_content(content)[0].split())[:_MADE_TITLE_CHARS]
    aliases = tuple((own.aliases or "").split("; ")) if own else ()
    scope = row.scope if row.scope in SCOPES else "project"
    with contextlib.suppress(EngramError):
        kind = row.type or "manual"
        tool = without_nul(row.tool_name) or None
        return prepare(
            Draft(title, content, kind, scope=scope, topic_key=row.topic_key, aliases=aliases, tool_name=tool)
        )
    return prepare(Draft(title, content, "manual", scope=scope))


def _insert(ledger: Ledger, sync_id: str, row: ObservationIn, new: Prepared) -> None:
    project = ledger.project(row.project)
    columns = _columns(ledger, row, new)
    rival = _rival(ledger, new, columns, project)
    columns |= {"sync_id": sync_id, "session_id": ledger.parent(row.session_id, project), "project": project}
    columns["id"] = ledger.observation_ids.of(row.id)
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
    live = fold_topic(ledger.store, ledger.journal, rival, imported)
    gone = rival if live.id == imported.id else imported
    ledger.warn(f"topic {live.topic_key}: [#{live.id}] is later than [#{gone.id}], whose text is its version now")


def _columns(ledger: Ledger, row: ObservationIn, new: Prepared) -> dict[str, Any]:
    own = ledger.own.observations.get(row.sync_id or "")
    updated = _time(ledger, row, "updated_at") or _time(ledger, row, "created_at") or ledger.now
    columns: dict[str, Any] = {
        **new.columns,
        "scope": new.scope or "project",
        "pinned": int(row.pinned),
        "revision_count": max(1, row.revision_count),
        "duplicate_count": max(1, row.duplicate_count),
        "last_seen_at": _time(ledger, row, "last_seen_at") or updated,
        "review_after": moment_of(row.review_after) or _review_date(new.type, updated, row),
        "created_at": _time(ledger, row, "created_at") or updated,
        "updated_at": updated,
        "deleted_at": _time(ledger, row, "deleted_at"),
        "origin": own.origin if own and ledger.trusted else "import",
        "clock": ledger.clock,
    }
    if own:
        taken = own.model_dump(include={*OWN, *COUNTED_HERE})
        texts = [name for name, kind in OWN.items() if kind == "text"]
        columns |= taken | {name: ledger.clean(taken[name]) for name in texts}
        columns["lifecycle"] = chosen_lifecycle(own.lifecycle)
    return columns


def _time(ledger: Ledger, row: ObservationIn, name: str) -> str | None:
    """Return a time of the row: our block has it to the millisecond, Engram's columns to the second."""
    own = ledger.own.observations.get(row.sync_id or "")
    return moment_of(getattr(own, name, None)) or moment_of(getattr(row, name))


def _review_date(kind: str, updated: str, row: ObservationIn) -> str | None:
    months, moment = REVIEW_MONTHS.get(kind), parse_time(updated)
    # 0.2.0 says when a review is due, null included; 0.1.0 does not know reviews.
    if "review_after" in row.model_fields_set or months is None or moment is None:
        return None
    return to_text(add_months(moment, months))


_DIGEST = re.compile(r"[0-9a-f]{32}")
_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PROBE = re.compile(r"\d{1,7}\.\d{1,7}\.\d{1,10}")


def import_anchors(ledger: Ledger, row_id: int, sync_id: str) -> None:
    """Give an imported observation the anchors it came with; one with an impossible path is left out."""
    offered = ledger.own.anchors.get(sync_id, ())[:MOST_ANCHORS]
    usable = [values for one in offered if (values := anchor_values(one, ledger.now))]
    if len(usable) < len(offered):
        ledger.warn(
            f"{len(offered) - len(usable)} file(s) of observation {sync_id[:80]!r} left out: no path in a project"
        )
    if usable or ledger.own.anchors:
        anchor_table.replace(ledger.store, row_id, usable)


def anchor_values(anchor: OwnAnchor, now: str) -> dict[str, Any] | None:
    """Return the columns of an imported anchor, None when its path cannot be one in a project.

    ``now`` is when it was recorded if it does not say.
    """
    path = anchor.path.rstrip("/")
    if not is_relative(path) or redact(path).count:
        return None
    start, end = anchor.start_line, anchor.end_line
    if start is None or end is None or not 1 <= start <= end <= LINE_LIMIT:
        start = end = None
    digest = _matching(_DIGEST, anchor.digest)
    probe = _matching(_PROBE, anchor.probe)
    if start is not None and probe is None:
        digest = None
    copies = max(1, anchor.copies)
    return {
        "path": path,
        "start_line": start,
        "end_line": end,
        "origin": anchor.origin if anchor.origin in ("given", "where") else "given",
        "digest": digest,
        "probe": probe if start is not None else None,
        "copies": copies,
        "ordinal": min(max(0, anchor.ordinal), copies - 1),
        "file_digest": _matching(_DIGEST, anchor.file_digest),
        "blob": _matching(_OBJECT, anchor.blob),
        "git_commit": _matching(_OBJECT, anchor.git_commit),
        "reason": None if digest else NOT_READ,
        "recorded_at": moment_of(anchor.recorded_at) or now,
    }


def _matching(shape: re.Pattern[str], text: str | None) -> str | None:
    return text if text is not None and shape.fullmatch(text) else None
