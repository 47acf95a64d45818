"""Reads Engram's JSON, versions 0.1.0 and 0.2.0, in one transaction: all of it or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.errors import EngramError, InvalidExportError, InvalidProjectError
from engram_py.models.health import Counts, Imported
from engram_py.models.observation import REVIEW_MONTHS, SCOPES, Draft, Observation
from engram_py.models.times import add_months, canonical, parse_time, to_text
from engram_py.project.names import normalize_project
from engram_py.recall.derive import derived_terms
from engram_py.services.identities import Identities
from engram_py.services.intake import Prepared, clean_content, clean_line, prepare
from engram_py.services.journal import Journal
from engram_py.services.merging import fold_topic
from engram_py.services.sessions import SESSION_ID_LIMIT
from engram_py.store import observations as observation_table
from engram_py.store import projects as project_table
from engram_py.store import relations as relation_table
from engram_py.store import sessions as session_table
from engram_py.store.database import Store

if TYPE_CHECKING:
    from engram_py.models.interchange import ExportIn, ObservationIn, OwnBlock, PromptIn, RelationIn, SessionIn

Progress = Callable[[int, int], None]

EPOCH = "1970-01-01T00:00:00.000Z"
UNKNOWN_PROJECT = "unknown"
RECOVERED_SESSION = "(recovered-missing-session)"
_PROGRESS_EVERY = 100
# What of our own block is taken over as it is, with the type it must have.
_OWN_COLUMNS: dict[str, type | tuple[type, ...]] = {
    "aliases": str, "lifecycle": str, "salience": (int, float), "access_count": int, "last_accessed_at": str,
    "expires_at": str, "git_branch": str, "git_commit": str,
}  # fmt: skip


class Importing:
    """Imports exports: rows are matched by sync id, the newer text wins, the older one is kept as a version."""

    _store: Store
    _journal: Journal

    def import_file(self, path: Path, *, progress: Progress | None = None) -> Imported:
        """Import a file; ``progress(done, total)`` is called now and then.

        Importing twice changes nothing the second time.

        Raises InvalidExportError: not JSON, another version, wrong types. Nothing is imported then.
        """
        document = read_export(path)
        run = _Run(self._store, self._journal, path, document, progress)
        with self._store.transaction():
            return run.import_all()


def read_export(path: Path) -> ExportIn:
    """Parse and check a whole export before anything is written."""
    from pydantic import ValidationError

    from engram_py.models.interchange import READABLE, ExportIn

    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as exc:
        raise InvalidExportError(str(path), exc.strerror or str(exc)) from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidExportError(str(path), f"it is not whole JSON ({exc})") from exc
    if not isinstance(values, dict):
        raise InvalidExportError(str(path), "it is not a JSON object")
    version = values.get("version") or ""
    if version and version not in READABLE:
        raise InvalidExportError(str(path), f"version {version!r} is not one of {', '.join(READABLE)}")
    try:
        return ExportIn.model_validate(values)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidExportError(str(path), f"{where}: {first['msg']}") from exc


class _Run:
    """One import: the counts, the names it has seen, and the rows it writes."""

    def __init__(
        self, store: Store, journal: Journal, path: Path, document: ExportIn, progress: Progress | None
    ) -> None:
        self._store = store
        self._journal = journal
        self._identities = Identities(store, journal)
        self._path = path
        self._document = document
        self._own: OwnBlock = document.engram_py
        self._trusted = False
        self._progress = progress
        self._done = 0
        self._counts = {kind: Counts() for kind in ("sessions", "observations", "prompts", "relations")}
        self._redacted = 0
        self._warnings: list[str] = []
        self._buried = {str(row[0]) for row in store.rows("select entity || ' ' || entity_key from tombstones")}

    def import_all(self) -> Imported:
        document = self._document
        # Only what this very memory exported may say where a row came from.
        self._trusted = bool(self._own.device) and self._own.device == self._journal.device()
        total = len(document.sessions) + len(document.observations) + len(document.prompts) + len(document.relations)
        self._each(document.sessions, self._session, total)
        self._each(document.observations, self._observation, total)
        self._versions()
        self._each(document.prompts, self._prompt, total)
        self._each(document.relations, self._relation, total)
        self._aliases()
        if self._progress:
            self._progress(total, total)
        return Imported(
            str(self._path),
            document.version or "0.1.0",
            **self._counts,
            redacted=self._redacted,
            warnings=tuple(self._warnings),
        )

    def _each(self, rows: Iterable[Any], take: Callable[[Any], None], total: int) -> None:
        for row in rows:
            take(row)
            self._done += 1
            if self._progress and self._done % _PROGRESS_EVERY == 0:
                self._progress(self._done, total)

    # --- sessions ----------------------------------------------------------------------------------------

    def _session(self, row: SessionIn) -> None:
        counts = self._counts["sessions"]
        usable = bool(row.id.strip()) and len(row.id) <= SESSION_ID_LIMIT and f"session {row.id}" not in self._buried
        if not usable or session_table.by_id(self._store, row.id):
            counts.skipped += 1
        else:
            own = self._own.sessions.get(row.id, {})
            started = canonical(_text(own.get("started_at"))) or canonical(row.started_at) or self._journal.now()
            ended = canonical(_text(own.get("ended_at"))) or canonical(row.ended_at)
            summary = self._clean(row.summary) if row.summary and row.summary.strip() else None
            self._insert_session(
                row.id,
                self._project(row.project),
                row.directory or "",
                started,
                ended,
                summary,
                _text(own.get("agent")),
            )
            counts.new += 1

    def _insert_session(
        self,
        session_id: str,
        project: str,
        directory: str,
        started_at: str,
        ended_at: str | None,
        summary: str | None,
        agent: str | None = None,
    ) -> None:
        clock = self._journal.stamp()
        values = {
            "id": session_id,
            "project": project,
            "directory": directory,
            "agent": agent or "",
            "started_at": started_at,
            "ended_at": ended_at,
            "summary": summary,
            "updated_at": self._journal.now(),
            "clock": clock,
        }
        self._store.insert("sessions", values)
        self._journal.changed("session", session_id, project=project, clock=clock)

    def _parent(self, session_id: str | None, project: str) -> str:
        """The session a row belongs to; one that the file does not hold is made as a stub."""
        wanted = session_id.strip()[:SESSION_ID_LIMIT] if session_id and session_id.strip() else f"import-{project}"
        if session_table.by_id(self._store, wanted) is None:
            self._insert_session(wanted, project, RECOVERED_SESSION, EPOCH, None, None)
        return wanted

    def _project(self, name: str | None) -> str:
        try:
            project = self._identities.canonical(normalize_project(name or UNKNOWN_PROJECT))
        except InvalidProjectError:
            project = UNKNOWN_PROJECT
            self._warnings.append(f"{name!r} is not a project name; its rows went to {UNKNOWN_PROJECT}")
        if not project_table.exists(self._store, project):
            self._identities.create(project)
        return project

    # --- observations ------------------------------------------------------------------------------------

    def _observation(self, row: ObservationIn) -> None:
        counts = self._counts["observations"]
        try:
            new = self._prepared(row)
        except EngramError as exc:
            counts.invalid += 1
            self._warnings.append(f"observation {row.sync_id or row.title!r} left out: {exc.message}")
            return
        self._redacted += new.redacted
        sync_id = row.sync_id or _derived_id("obs", row.session_id, row.created_at, row.title, row.content)
        if f"observation {sync_id}" in self._buried:
            counts.skipped += 1
            return
        known = observation_table.by_sync_id(self._store, sync_id)
        if known is None:
            self._insert(sync_id, row, new)
            counts.new += 1
        elif (self._time(row, sync_id, "updated_at") or EPOCH) > known.updated_at:
            self._overwrite(known, row, new)
            counts.newer += 1
        else:
            counts.skipped += 1

    def _prepared(self, row: ObservationIn) -> Prepared:
        own = self._own.observations.get(row.sync_id or "", {})
        content = row.content or ""
        # Older Engrams accepted rows without a title.
        title = row.title if row.title and row.title.strip() else " ".join(content.split())[:80]
        aliases = _text(own.get("aliases")) or ""
        scope = row.scope if row.scope in SCOPES else "project"
        with contextlib.suppress(EngramError):
            return prepare(
                Draft(
                    title[:1000],
                    content,
                    row.type or "manual",
                    scope=scope,
                    topic_key=row.topic_key,
                    aliases=tuple(aliases.split("; ")),
                    tool_name=row.tool_name,
                )
            )
        return prepare(Draft(title[:1000], content, "manual", scope=scope))

    def _columns(self, sync_id: str, row: ObservationIn, new: Prepared) -> dict[str, Any]:
        own = self._own.observations.get(sync_id, {})
        now = self._journal.now()
        updated = self._time(row, sync_id, "updated_at") or self._time(row, sync_id, "created_at") or now
        columns: dict[str, Any] = {
            "type": new.type,
            "title": new.title,
            "content": new.content,
            "topic_key": new.topic_key,
            "aliases": new.aliases,
            "terms": new.terms,
            "tool_name": new.tool_name,
            "content_hash": new.content_hash,
            "scope": new.scope or "project",
            "pinned": int(row.pinned),
            "revision_count": max(1, row.revision_count),
            "duplicate_count": max(0, row.duplicate_count),
            "last_seen_at": self._time(row, sync_id, "last_seen_at") or updated,
            "review_after": canonical(row.review_after) or self._review_date(new.type, updated, row),
            "created_at": self._time(row, sync_id, "created_at") or updated,
            "updated_at": updated,
            "deleted_at": self._time(row, sync_id, "deleted_at"),
            "origin": own["origin"] if self._trusted and own.get("origin") in _ORIGINS else "import",
        }
        for name, kind in _OWN_COLUMNS.items():
            if name != "aliases" and isinstance(own.get(name), kind):
                columns[name] = own[name]
        if columns.get("lifecycle") not in (None, "active", "historical", "archived"):
            del columns["lifecycle"]
        return columns

    def _insert(self, sync_id: str, row: ObservationIn, new: Prepared) -> None:
        project = self._project(row.project)
        clock = self._journal.stamp()
        columns = self._columns(sync_id, row, new)
        rival = None
        if new.topic_key and columns["deleted_at"] is None:
            rival = observation_table.live_topic(
                self._store, topic_key=new.topic_key, project=project, scope=columns["scope"]
            )
        session_id = self._parent(row.session_id, project)
        columns |= {"sync_id": sync_id, "session_id": session_id, "project": project, "clock": clock}
        row_id = self._store.insert("observations", columns)
        self._journal.changed("observation", sync_id, project=project, clock=clock)
        if rival is not None:
            fold_topic(self._store, self._journal, rival, self._live(row_id))

    def _overwrite(self, known: Observation, row: ObservationIn, new: Prepared) -> None:
        clock = self._journal.stamp()
        if (known.title, known.content) != (new.title, new.content):
            observation_table.keep_version(self._store, known, clock=clock)
        columns = self._columns(known.sync_id, row, new) | {"clock": clock}
        columns["revision_count"] = max(columns["revision_count"], known.revision_count + 1)
        self._store.update("observations", {"id": known.id}, columns)
        self._journal.changed("observation", known.sync_id, project=known.project, clock=clock)

    def _live(self, row_id: int) -> Observation:
        found = observation_table.by_id(self._store, row_id)
        assert found is not None
        return found

    def _time(self, row: ObservationIn, sync_id: str, name: str) -> str | None:
        """A time of the row: our block has it to the millisecond, Engram's columns to the second."""
        precise = _text(self._own.observations.get(sync_id, {}).get(name))
        return canonical(precise) or canonical(getattr(row, name))

    def _review_date(self, kind: str, updated: str, row: ObservationIn) -> str | None:
        months, moment = REVIEW_MONTHS.get(kind), parse_time(updated)
        # 0.2.0 says when a review is due, null included; 0.1.0 does not know reviews.
        if "review_after" in row.model_fields_set or months is None or moment is None:
            return None
        return to_text(add_months(moment, months))

    def _versions(self) -> None:
        """Older texts from our own block, for observations that have none here."""
        grouped: dict[str, list[dict[str, Any]]] = {}
        for version in self._own.versions:
            grouped.setdefault(str(version.get("sync_id")), []).append(version)
        for sync_id, versions in grouped.items():
            known = observation_table.by_sync_id(self._store, sync_id)
            if known is None or observation_table.count_versions(self._store, known.id):
                continue
            for number, version in enumerate(sorted(versions, key=lambda one: str(one.get("version")).zfill(9)), 1):
                with contextlib.suppress(EngramError):
                    values = {
                        "observation_id": known.id,
                        "version": number,
                        "title": clean_line("title", str(version.get("title")), limit=1000)[0],
                        "content": clean_content(str(version.get("content")))[0],
                        "created_at": canonical(_text(version.get("created_at"))) or known.created_at,
                        "clock": self._journal.stamp(),
                    }
                    self._store.insert("observation_versions", values)

    # --- prompts and relations ---------------------------------------------------------------------------

    def _prompt(self, row: PromptIn) -> None:
        counts = self._counts["prompts"]
        sync_id = row.sync_id or _derived_id("prompt", row.session_id, row.created_at, row.content)
        buried = {stone.sync_id for stone in self._document.prompt_tombstones}
        if f"prompt {sync_id}" in self._buried or sync_id in buried or not (row.content and row.content.strip()):
            counts.skipped += 1
            return
        if self._store.row("select 1 from user_prompts where sync_id = :id", id=sync_id):
            counts.skipped += 1
            return
        project = self._project(row.project)
        text, clock = self._clean(row.content), self._journal.stamp()
        values = {
            "sync_id": sync_id,
            "session_id": self._parent(row.session_id, project),
            "project": project,
            "content": text,
            "terms": derived_terms(text or ""),
            "created_at": canonical(row.created_at) or self._journal.now(),
            "clock": clock,
        }
        self._store.insert("user_prompts", values)
        self._journal.changed("prompt", sync_id, project=project, clock=clock)
        counts.new += 1

    def _relation(self, row: RelationIn) -> None:
        counts = self._counts["relations"]
        known = relation_table.by_sync_id(self._store, row.sync_id)
        updated = canonical(row.updated_at) or canonical(row.created_at) or self._journal.now()
        if known is not None and updated[:19] <= known.updated_at[:19]:  # Engram keeps whole seconds
            counts.skipped += 1
            return
        source = observation_table.by_sync_id(self._store, row.source_id)
        target = observation_table.by_sync_id(self._store, row.target_id)
        orphaned = source is None or target is None
        clock, project = self._journal.stamp(), source.project if source else ""
        values = row.model_dump(exclude={"superseded_at", "created_at", "updated_at", "reason", "evidence"})
        values |= {
            "reason": self._clean(row.reason),
            "evidence": self._clean(row.evidence),
            "judgment_status": "orphaned" if orphaned else row.judgment_status,
            "project": project,
            "superseded_at": canonical(row.superseded_at),
            "created_at": canonical(row.created_at) or updated,
            "updated_at": updated,
            "clock": clock,
        }
        if known is None:
            self._store.insert("memory_relations", values)
            counts.new += 1
        else:
            self._store.update("memory_relations", {"id": known.id}, values)
            counts.newer += 1
        self._journal.changed("relation", row.sync_id, project=project, clock=clock)

    def _aliases(self) -> None:
        for alias, project in self._own.aliases.items():
            taken = project_table.exists(self._store, alias) or project_table.target_of_alias(self._store, alias)
            if not taken and project_table.exists(self._store, project):
                clock = self._journal.stamp()
                values = {"alias": alias, "project": project, "created_at": self._journal.now(), "clock": clock}
                self._store.insert("project_aliases", values)
                self._journal.changed("alias", alias, project=project, clock=clock)

    def _clean(self, text: str | None) -> str | None:
        if text is None or not text.strip():
            return None
        cleaned, _, redacted = clean_content(text)
        self._redacted += redacted
        return cleaned


_ORIGINS = ("user", "agent", "derived", "import")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _derived_id(prefix: str, *parts: str | None) -> str:
    """An identity for a row that came without one; the same row always gets the same."""
    joined = "\n".join(part or "" for part in parts)
    return f"{prefix}-{hashlib.sha256(joined.encode(errors='replace')).hexdigest()[:16]}"
