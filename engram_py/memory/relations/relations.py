"""Judge pairs of observations, and list relations. A verdict is shown with either of them, and a replaced one leaves
search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.base.capture.redact import redact
from engram_py.base.capture.session_id import clean_session_id
from engram_py.base.errors import EmptyFieldError, InvalidArgumentError, NotFoundError, TextTooLongError
from engram_py.base.reasons import operation, sentence
from engram_py.base.text.normalize import check_text
from engram_py.base.times import canonical
from engram_py.memory.observations.arguments import MAX_ID, clamp, live_observation
from engram_py.memory.observations.values import Editor, Observation
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table
from engram_py.memory.relations.values import DUPLICATES, VERBS, Relation, RelationPage, RelationStats, pair_id

REASONING_LIMIT_CHARS = 200
NOTE_LIMIT_CHARS = 4_000
PENDING_MOST = 200
DEFAULT, MOST = 50, 500
STATUSES = ("pending", "judged", "orphaned", "ignored")


class Relations:
    """Judges candidates a save surfaced, compares any two observations, and lists and counts relations."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def judge(
        self,
        judgment_id: str,
        relation: str,
        *,
        reason: str | None = None,
        evidence: str | None = None,
        confidence: float | None = None,
        session_id: str | None = None,
    ) -> Relation:
        """Give a verdict on a relation; the newer observation is its source, so "new supersedes old".

        Judging again replaces the verdict. Raises NotFoundError (judgment_not_found), InvalidArgumentError.
        """
        check_text("judgment_id", judgment_id)
        check_text("session_id", session_id or "")
        verdict = _verdict(relation, confidence, reason=reason, evidence=evidence)
        with self._store.transaction():
            found = _existing(table.by_sync_id(self._store, judgment_id.strip()), judgment_id)
            verdict |= {
                "marked_by_actor": "agent",
                "marked_by_kind": "agent",
                "session_id": clean_session_id(session_id) if session_id and session_id.strip() else None,
            }
            return self._record(found, verdict)

    def compare(
        self,
        one: int,
        other: int,
        relation: str,
        *,
        confidence: float,
        reasoning: str,
        model: str | None = None,
        by: Editor = "agent",
    ) -> Relation:
        """Give a verdict on two observations of one project, or two that hold in every project: ``one`` `relation`
        ``other``. What follows ``by`` upkeep from something else is not taken back by itself."""
        if len(reasoning) > REASONING_LIMIT_CHARS:
            raise TextTooLongError("reasoning", len(reasoning), REASONING_LIMIT_CHARS)
        if not reasoning.strip():
            raise EmptyFieldError("reasoning")
        verdict = _verdict(relation, confidence, reason=reasoning)
        verdict |= {"marked_by_actor": "engram", "marked_by_kind": "system", "marked_by_model": _note("model", model)}
        with self._store.transaction():
            source, target = live_observation(self._store, one), live_observation(self._store, other)
            if source.id == target.id:
                said = "memory_id_a and memory_id_b are the same observation"
                raise InvalidArgumentError("memory_id_b", said=said, step="give two different ids")
            if source.project != target.project and "project" in (source.scope, target.scope):
                raise InvalidArgumentError(
                    "memory_id_b", other, expected=f"an observation of {source.project}; #{other} is {target.project}'s"
                )
            known = table.between(self._store, source.sync_id, target.sync_id)
            found = known or self._create(source.sync_id, target.sync_id, source.project)
            # The verdict may read the other way round than the candidate was stored.
            verdict |= {"source_id": source.sync_id, "target_id": target.sync_id}
            return self._record(found, verdict, kept=by != "upkeep", is_new=known is None)

    def put_back(self, judgment_id: str, columns: Mapping[str, Any]) -> None:
        """Give a relation the columns it had before a verdict; without any it counts no more. Raises NotFoundError."""
        with self._store.transaction():
            found = _existing(table.by_sync_id(self._store, judgment_id), judgment_id)
            self._write(found, dict(columns) or {"superseded_at": self._journal.now()})

    def duplicate(self, newer: Observation, older: Observation) -> None:
        """Note that a row says what an older one says. Call inside a transaction.

        It stays on this machine: of two memories others know six verdicts, and this is none of them.
        """
        found = table.between(self._store, newer.sync_id, older.sync_id)
        found = found or self._create(newer.sync_id, older.sync_id, newer.project)
        values: dict[str, Any] = {"source_id": newer.sync_id, "target_id": older.sync_id, "relation": DUPLICATES}
        values |= {"judgment_status": "judged", "confidence": 1.0, "updated_at": self._journal.now()}
        values |= {"marked_by_actor": "engram", "marked_by_kind": "system"}
        self._store.update("memory_relations", {"id": found.id}, values)

    def show(self, relation: str) -> Relation:
        """Return one relation, by number or by judgment id. Raises NotFoundError (judgment_not_found)."""
        key = relation.strip()
        found = table.by_sync_id(self._store, key)
        if found is None and key.isascii() and key.isdecimal():
            found = table.by_id(self._store, min(int(key[:20]), MAX_ID))
        return _existing(found, relation)

    def between(self, one: int, other: int) -> Relation | None:
        """Return the relation of two live observations, in either direction. Raises ObservationNotFoundError."""
        ends = (live_observation(self._store, number).sync_id for number in (one, other))
        return table.between(self._store, *ends)

    def pending(
        self, project: str | None = None, *, all_projects: bool = False, limit: int = 20
    ) -> tuple[Relation, ...]:
        """Return the relations that wait for a verdict, newest first."""
        limit, _ = clamp("limit", limit, 1, PENDING_MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        return tuple(table.pending(self._store, projects=place.reads, limit=limit))

    def replacements(self, rows: Sequence[Observation]) -> dict[int, int]:
        """Return the id of the replacement of each replaced row, by its id."""
        notes = table.relation_notes(self._store, [row.sync_id for row in rows])
        found = {row.id: table.replacement(notes.get(row.sync_id, ())) for row in rows}
        return {row_id: by for row_id, by in found.items() if by is not None}

    def page(
        self,
        project: str | None = None,
        *,
        all_projects: bool = False,
        status: str | None = None,
        since: str | None = None,
        limit: int = DEFAULT,
        offset: int = 0,
    ) -> RelationPage:
        """Return the relations, newest first, but for those found to be no conflict. Raises InvalidArgumentError."""
        limit = DEFAULT if limit <= 0 else min(limit, MOST)
        offset = max(0, min(offset, MAX_ID))
        reads, moment = self._reads(project, all_projects), moment_of(since)
        total, found = table.page(
            self._store, projects=reads, status=status or None, since=moment, limit=limit, offset=offset
        )
        return RelationPage(total, limit, offset, tuple(found))

    def get(self, relation_id: int) -> Relation:
        """Return one relation. Raises NotFoundError (relation_not_found)."""
        found = table.by_id(self._store, relation_id) if 1 <= relation_id <= MAX_ID else None
        if found is None:
            raise NotFoundError(
                f"no relation {relation_id}",
                hint=sentence(operation("unjudged"), " lists the open ones"),
                code="relation_not_found",
            )
        return found

    def stats(self, project: str | None = None, *, all_projects: bool = False) -> RelationStats:
        """Return the counts by verb and by state."""
        reads = self._reads(project, all_projects)
        return RelationStats(
            by_relation=table.tally(self._store, "relation", projects=reads),
            by_judgment_status=table.tally(self._store, "judgment_status", projects=reads),
        )

    def _reads(self, project: str | None, all_projects: bool) -> tuple[str, ...] | None:
        return self._projects.for_read(project, all_projects=all_projects).reads

    def _create(self, source_id: str, target_id: str, project: str) -> Relation:
        now, clock = self._journal.now(), self._journal.stamp()
        sync_id = pair_id(source_id, target_id)
        values = {"sync_id": sync_id, "source_id": source_id, "target_id": target_id, "project": project}
        self._store.insert("memory_relations", values | {"created_at": now, "updated_at": now, "clock": clock})
        created = table.by_sync_id(self._store, sync_id)
        assert created is not None
        return created

    def _record(
        self, relation: Relation, verdict: dict[str, Any], *, kept: bool = True, is_new: bool = False
    ) -> Relation:
        values = verdict | {"judgment_status": "judged", "superseded_at": None}
        self._write(relation, values, kept=kept, is_new=is_new)
        recorded = table.by_sync_id(self._store, relation.sync_id)
        assert recorded is not None
        return recorded

    def _write(self, relation: Relation, values: dict[str, Any], *, kept: bool = True, is_new: bool = False) -> None:
        clock, now = self._journal.stamp(), self._journal.now()
        self._store.update("memory_relations", {"id": relation.id}, values | {"updated_at": now, "clock": clock})
        table.settle(self._store, (relation.source_id, relation.target_id))
        self._journal.changed("relation", relation.sync_id, project=relation.project, clock=clock)
        if kept:
            before = {} if is_new else {name: getattr(relation, name) for name in values}
            ends = [relation.source_observation, relation.target_observation]
            self._journal.keep_change("relation", relation.sync_id, before, values, ends)


def moment_of(since: str | None) -> str:
    """Return the first moment that counts. Raises InvalidArgumentError."""
    if not since or not since.strip():
        return ""
    moment = canonical(since)
    if moment is None:
        raise InvalidArgumentError("since", since, expected="a time such as 2026-03-14T09:30:00Z")
    return moment


def _existing(found: Relation | None, judgment_id: str) -> Relation:
    if found is None:
        raise NotFoundError(
            f"no relation {judgment_id[:80]!r}",
            hint=sentence("use the judgment_id that the save printed; ", operation("unjudged"), " lists open ones"),
            code="judgment_not_found",
        )
    return found


def _verdict(
    relation: str, confidence: float | None, *, reason: str | None = None, evidence: str | None = None
) -> dict[str, Any]:
    verb = relation.strip().lower()
    if verb not in VERBS:
        raise InvalidArgumentError("relation", relation, expected=f"one of {', '.join(VERBS)}")
    if confidence is not None and not 0 <= confidence <= 1:
        raise InvalidArgumentError("confidence", confidence, expected="a number from 0 to 1")
    return {
        "relation": verb,
        "confidence": confidence,
        "reason": _note("reason", reason),
        "evidence": _note("evidence", evidence),
    }


def _note(field: str, text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    check_text(field, text)
    if len(text) > NOTE_LIMIT_CHARS:
        raise TextTooLongError(field, len(text), NOTE_LIMIT_CHARS)
    return redact(text).text.strip()
