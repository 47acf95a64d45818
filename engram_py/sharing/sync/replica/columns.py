"""Turn rows that come from elsewhere into our columns: the same for an import and for another machine of the user."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engram_py.base.capture.redact import redact
from engram_py.base.capture.session_id import SESSION_ID_LIMIT
from engram_py.base.errors import EngramError
from engram_py.base.lazy import regex
from engram_py.base.times import FORMAT_WIDTH, canonical
from engram_py.memory.anchors.values import LINE_LIMIT, NOT_READ
from engram_py.memory.anchors.worktree import is_relative
from engram_py.memory.entities.values import is_edge
from engram_py.memory.observations.table import Kind
from engram_py.memory.observations.validation import Prepared, clean_content, prepare
from engram_py.memory.observations.values import SCOPES, TITLE_LIMIT_CHARS, Draft
from engram_py.memory.projects.values import slug_project
from engram_py.memory.relations.values import VERBS

if TYPE_CHECKING:
    from engram_py.sharing.sync.replica.models import (
        ObservationIn,
        OwnAnchor,
        OwnObservation,
        OwnSession,
        RelationIn,
        SessionIn,
    )

EPOCH = "1970-01-01T00:00:00.000Z"
_OLDEST, _NEWEST = "1970", "9000"
_MADE_TITLE_CHARS = 80
_ORG_CHARS = 200
_MODES = ("shared", "project_owned")
# What a verdict says in somebody's words.
_SAID = ("reason", "evidence", "marked_by_actor", "marked_by_kind", "marked_by_model", "session_id")
_TITLE_READ_CHARS = 4 * TITLE_LIMIT_CHARS
_DIGEST = regex(r"[0-9a-f]{32}")
_OBJECT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PROBE = regex(r"\d{1,7}\.\d{1,7}\.\d{1,10}")
# Takes the secrets out of a text; None for an empty one.
Clean = Callable[[str | None], str | None]


def moment_of(*texts: object) -> str | None:
    """Return the first of ``texts`` that is a time, as the memory writes times. Go's zero time, the year 1, is none."""
    for text in texts:
        if isinstance(text, str) and (moment := _moment(text)):
            return moment
    return None


@lru_cache(maxsize=1_024)  # a row says the same moment three times
def _moment(text: str) -> str | None:
    moment = canonical(text)
    usable = moment is not None and len(moment) == FORMAT_WIDTH and _OLDEST <= moment < _NEWEST
    return moment if usable else None


def without_nul(text: str | None) -> str:
    return (text or "").replace("\0", "")


@lru_cache(maxsize=1_024)  # many rows are of one session
def session_key(session_id: str | None) -> str:
    return redact((session_id or "").strip()[:SESSION_ID_LIMIT]).text


def derived_id(prefix: str, *parts: str | None) -> str:
    """Return an identity for a row without one; the same row always gets the same."""
    joined = "\n".join(part or "" for part in parts)
    return f"{prefix}-{hashlib.sha256(joined.encode(errors='replace')).hexdigest()[:16]}"


def nearest_project(name: str | None) -> str:
    """Return the project of a row from elsewhere: the name it gives, else the nearest that can be one.

    claude-mem names a worktree ``parent/worktree``. A path of a machine names nothing.
    """
    parts = (name or "").replace("\\", "/").split("/")
    named = slug_project(name or "") if all(part.strip(" .~") for part in parts) else None
    return named or "unknown"


def made_session(project: str) -> str:
    """Return the session of rows that name none."""
    return f"import-{project}"


def prepared_of(row: ObservationIn, own: OwnObservation | None) -> Prepared:
    """Return an observation fit to be stored; where its topic, its names or its type cannot be, without these.

    Raises EngramError: there is no text.
    """
    draft = draft_of(row, own)
    with suppress(EngramError):
        return prepare(draft)
    return prepare(Draft(draft.title, draft.content, "manual", scope=draft.scope))


def draft_of(row: ObservationIn, own: OwnObservation | None) -> Draft:
    """Return an observation as somebody would save it."""
    content, title = without_nul(row.content), without_nul(row.title)
    if not title.strip():  # older Engrams accepted rows without a title
        title = " ".join(clean_content(content)[0].split())[:_MADE_TITLE_CHARS]
    elif len(title) > TITLE_LIMIT_CHARS:
        # Redacted before it is cut, so that no half of a secret stands at the end.
        title = redact(title[:_TITLE_READ_CHARS]).text[:TITLE_LIMIT_CHARS]
    return Draft(
        title,
        content,
        row.type or "manual",
        scope=row.scope if row.scope in SCOPES else "project",
        topic_key=row.topic_key,
        aliases=tuple((own.aliases or "").split("; ")) if own else (),
        tool_name=without_nul(row.tool_name) or None,
    )


def observation_columns(
    row: ObservationIn, own: OwnObservation | None, prepared: Prepared, *, now: str
) -> dict[str, Any]:
    """Return the columns that Engram has too. Our block has their times to the millisecond, the row to the second."""

    def time(name: str) -> str | None:
        return moment_of(getattr(own, name, None), getattr(row, name))

    updated = time("updated_at") or time("created_at") or now
    return {
        **prepared.columns,
        "scope": prepared.scope or "project",
        "org": redact(without_nul(row.org).strip()[:_ORG_CHARS]).text or None,
        "pinned": int(row.pinned),
        "revision_count": max(1, row.revision_count),
        "duplicate_count": max(1, row.duplicate_count),
        "last_seen_at": time("last_seen_at") or updated,
        "created_at": time("created_at") or updated,
        "updated_at": updated,
        "deleted_at": time("deleted_at"),
    }


def session_columns(row: SessionIn, own: OwnSession | None, clean: Clean, *, now: str) -> dict[str, str | None]:
    """Return the columns of a session. ``clean`` takes the secrets out of a text."""
    started = moment_of(getattr(own, "started_at", None), row.started_at) or now
    ended = moment_of(getattr(own, "ended_at", None), row.ended_at)
    return {
        "directory": clean(row.directory) or "",
        "agent": clean(getattr(own, "agent", None)) or "",
        "ownership_mode": row.ownership_mode if row.ownership_mode in _MODES else "shared",
        "started_at": started,
        "ended_at": ended,
        "summary": clean(row.summary),
        "updated_at": moment_of(getattr(own, "updated_at", None), ended) or started,
    }


def has_verdict(row: RelationIn) -> bool:
    """Return whether a relation says something that is known here, or asks."""
    return row.relation in (*VERBS, "pending") or is_edge(row.source_id, row.relation, row.target_id)


def relation_columns(row: RelationIn, block: Mapping[str, Any], clean: Clean, *, now: str) -> dict[str, Any]:
    """Return the columns of a relation. ``block`` has its times to the millisecond."""
    updated = moment_of(block.get("updated_at"), row.updated_at, row.created_at) or now
    return {
        **row.model_dump(include={"source_id", "target_id", "relation", "confidence", "judgment_status"}),
        **{name: clean(getattr(row, name)) for name in _SAID},
        "superseded_at": moment_of(block.get("superseded_at"), row.superseded_at),
        "created_at": moment_of(block.get("created_at"), row.created_at) or updated,
        "updated_at": updated,
    }


def own_columns(own: OwnObservation, kinds: Mapping[str, Kind], clean: Clean) -> dict[str, Any]:
    """Return columns that Engram does not have. ``clean`` takes the secrets out of a text."""
    takers: dict[Kind, Callable[[Any], Any]] = {"value": lambda value: value, "text": clean, "time": moment_of}
    return {name: takers[kind](getattr(own, name)) for name, kind in kinds.items()}


def anchor_columns(anchor: OwnAnchor, now: str) -> dict[str, Any] | None:
    """Return the columns of an anchor, None when its path cannot be one in a project.

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
