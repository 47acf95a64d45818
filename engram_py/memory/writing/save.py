"""The write path of every interface: ``Saving.save`` checks a draft, decides what it is, and writes the row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from engram_py.base.database.mutation_queue import Journal, new_sync_id
from engram_py.base.database.store import Store
from engram_py.base.dataclass import asdict, dataclass, replace
from engram_py.base.errors import ConflictError, InvalidInputError, OperationExpiredError, TextTooLongError
from engram_py.base.reasons import Reason, kept, reason
from engram_py.base.text.normalize import check_text
from engram_py.base.text.words import derived_terms
from engram_py.base.times import add_months, to_text
from engram_py.memory.observations import table
from engram_py.memory.observations.fact_rules import Rules, judged
from engram_py.memory.observations.listing import Suggestion
from engram_py.memory.observations.topics import may_revise, misspelled_type_note, near_topic, suggest_topic_key
from engram_py.memory.observations.validation import NAME_LIMIT_CHARS, Prepared, clean_branch, prepare
from engram_py.memory.observations.values import (
    DEFAULT_TYPE,
    REVIEW_MONTHS,
    Candidate,
    Draft,
    Observation,
    Outcome,
    RelationNote,
    Saved,
    TruncatedContent,
)
from engram_py.memory.privacy.provenance import WAITS
from engram_py.memory.privacy.switches import Switches
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import Place
from engram_py.memory.relations import table as relations
from engram_py.memory.relations.relations import Relations

if TYPE_CHECKING:
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.sessions.sessions import Sessions


_KEPT_DAYS = 30
_FORGET = """
delete from save_operations where operation_id in
    (select operation_id from save_operations where created_at < :before order by created_at limit 50)
"""


@dataclass(frozen=True, slots=True)
class SaveOperation:
    """A save that may be repeated: a digest of its id, which keeps no secret, and one of its arguments."""

    id: str
    fingerprint: str

    def answer(self, store: Store) -> Saved | None:
        """Return the first answer. Raises ConflictError (operation_conflict) when something else is asked for now."""
        row = store.row("select * from save_operations where operation_id = :id", id=self.id)
        if row is None:
            return None
        if not row["answer"]:
            raise OperationExpiredError
        if row["fingerprint"] != self.fingerprint:
            raise ConflictError(
                "operation_id was used before with other arguments",
                hint="use a new operation_id for a new save; nothing was written",
                code="operation_conflict",
            )
        return replace(_saved_from_json(row["answer"]), replayed=True)

    def remember(self, store: Store, journal: Journal, saved: Saved) -> None:
        """Keep the answer for a month, and forget up to 50 that are older. Call inside a transaction."""
        store.execute(_FORGET, before=to_text(journal.moment() - timedelta(days=_KEPT_DAYS)))
        values = {"operation_id": self.id, "fingerprint": self.fingerprint, "answer": json.dumps(asdict(saved))}
        store.insert("save_operations", values | {"created_at": journal.now()})


def committed(store: Store, operation_id: str) -> int | None:
    """Return what a save under this id became, None where there was none. Raises OperationExpiredError."""
    row = store.row("select answer from save_operations where operation_id = :id", id=_digest(operation_id))
    if row is None:
        return None
    saved = _saved_from_json(row["answer"]) if row["answer"] else None
    sql = "select 1 from observations where id = :id and deleted_at is null"
    if saved is None or store.row(sql, id=saved.id) is None:
        raise OperationExpiredError
    return saved.id


def expire(store: Store, sync_id: str) -> None:
    """Forget what answers say of a destroyed observation: its own all of it, others whom they named.

    That there was a save stays known. Call inside a transaction.
    """
    for row in store.rows("select * from save_operations where instr(answer, :sync_id)", sync_id=sync_id):
        answer = json.loads(row["answer"])
        own = answer["sync_id"] == sync_id
        left = "" if own else json.dumps(answer | {"candidates": [], "replaced": [], "warnings": []})
        values = {"answer": left, "fingerprint": "" if own else row["fingerprint"]}
        store.update("save_operations", {"operation_id": row["operation_id"]}, values)


def operation_of(draft: Draft, new: Prepared, project: str | None, session_id: str | None) -> SaveOperation | None:
    """Return the operation that a draft names. Raises InvalidTextError, TextTooLongError."""
    if not draft.operation_id:
        return None
    check_text("operation_id", draft.operation_id)
    if len(draft.operation_id) > NAME_LIMIT_CHARS:
        raise TextTooLongError("operation_id", len(draft.operation_id), NAME_LIMIT_CHARS)
    parts = [session_id, new.type, new.title, new.content, new.tool_name, project, new.scope, new.topic_key]
    parts += [new.aliases] if new.aliases else []
    parts += ["files", *draft.files] if draft.files else []
    # Each part with its length, so that no two requests run together.
    joined = "".join(f"{len(part)}:{part}" for part in (part or "" for part in parts))
    fingerprint = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
    return SaveOperation(_digest(draft.operation_id), f"v1:{fingerprint}")


def _digest(operation_id: str) -> str:
    return hashlib.sha256(operation_id.encode("utf-8", "surrogatepass")).hexdigest()


def _saved_from_json(text: str) -> Saved:
    values = json.loads(text)
    values["truncation"] = TruncatedContent(**values["truncation"]) if values["truncation"] else None
    values["candidates"] = tuple(Candidate(**candidate) for candidate in values["candidates"])
    values["warnings"] = kept(values["warnings"])
    values["replaced"] = tuple(RelationNote(**note) for note in values.get("replaced", ()))
    return Saved(**values)


class CandidateSource(Protocol):
    """Finds older observations that a new one may contradict: ``recall.contradictions.Candidates`` does."""

    def find(self, observation: Observation) -> Candidate | None: ...


class Offer(Protocol):
    """A guard that the text of an observation offers."""

    @property
    def id(self) -> int: ...


class Proposals(Protocol):
    """Finds guards in the texts of decisions (``guidance/guards/proposals.py``)."""

    def offers(self, store: Store, projects: Sequence[str] | None, *, limit: int) -> Sequence[Offer]: ...
    def offer_note(self, store: Store, observation_id: int, title: str, content: str) -> tuple[Reason, ...]: ...


class Saving:
    """Saves a draft as a new observation, a revision or a duplicate."""

    def __init__(
        self,
        core: Core,
        sessions: Sessions,
        candidates: CandidateSource,
        *,
        anchors: Anchors,
        switches: Switches,
        proposals: Callable[[], Proposals],
    ) -> None:
        self._proposals = proposals
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._relations = Relations(core)
        self._sessions = sessions
        self._candidates = candidates
        self._anchors = anchors
        self._switches = switches

    def save(
        self,
        draft: Draft,
        *,
        project: str | None = None,
        session_id: str | None = None,
        rules: Rules | None = None,
        same: Callable[[Prepared, Place], Observation | None] | None = None,
    ) -> Saved:
        """Store ``draft``, or fold it into the observation that already says it.

        ``updated``: its topic key is live in this project and scope; the old text becomes a version.
        ``duplicate``: a row of the user's own has this title and text in the project, scope and type, whenever it was
        saved (a note: on this day), or it is what the topic says already. ``added``: everything else. By the ``rules``
        of facts also ``deduped``: a fact of its entity says it already; and ``superseded``: it has another value than
        one, which becomes historical. ``same`` finds the row that says it in other words, which it is a ``duplicate``
        of. All in one transaction, with its queued mutation.

        Raises:
            InvalidInputError: see ``prepare``; or the project is ambiguous.
            InvalidInputError (fact_refused): the ``rules`` say that it is no fact.
            ConflictError (operation_conflict): ``operation_id`` was used with other arguments.
            StoreError: the file cannot be written. In every case nothing was stored.
        """
        prepared = prepare(draft)
        operation = operation_of(draft, prepared, project, session_id)
        observed = self._anchors.observe(draft.files, prepared.content)
        with self._store.transaction():
            if operation and (answer := operation.answer(self._store)):
                return answer
            place = self._projects.for_write(project, session_id=session_id, scope=prepared.scope)
            session = self._sessions.ensure(session_id, place)
            if same is not None and (old := same(prepared, place)) is not None:
                return self._repeat(draft, old, prepared, place, session.id)
            saved = self._decide(draft, prepared, place, session.id, rules)
            notes = self._anchors.record(saved.id, saved.project, observed, saved.outcome)
            saved = self._compared(saved)
            notes = (*notes, *self._guard_offer(saved, prepared), *self._switches.note(place.project, session.id))
            saved = replace(saved, warnings=(*saved.warnings, *notes))
            if operation:
                operation.remember(self._store, self._journal, saved)
        return saved

    def _compared(self, saved: Saved) -> Saved:
        """Return the answer with the older observation that a new text most likely contradicts or revises, and its
        topic."""
        row = table.by_id(self._store, saved.id) if saved.outcome in ("added", "updated", "superseded") else None
        older = self._candidates.find(row) if row is not None else None
        if older is None:
            return saved
        saved = replace(saved, candidates=(older,))
        key = saved.suggested_topic_key
        if key is None or older.topic_key is None or not may_revise(key, older.topic_key):
            return saved
        return replace(saved, suggested_topic_key=older.topic_key, topic_holder=older.id)

    def _guard_offer(self, saved: Saved, new: Prepared) -> tuple[Reason, ...]:
        if new.type not in REVIEW_MONTHS or saved.outcome not in ("added", "updated"):
            return ()
        return self._proposals().offer_note(self._store, saved.id, new.title, new.content)

    def _decide(self, draft: Draft, new: Prepared, place: Place, session_id: str, rules: Rules | None) -> Saved:
        scope = new.scope or place.default_scope
        if new.about and rules is not None:
            return self._fact(draft, new, place, session_id, scope, rules)
        key = {"project": place.project, "scope": scope}
        if new.topic_key:
            topic = {"topic_key": new.topic_key, **key}
            # Without a row of this key, the keyless row takes it whose save suggested it.
            old = table.live_topic(self._store, **topic) or table.suggested(self._store, **topic)
            if old is not None:
                decided = self._repeat if _says_the_same(old, new) else self._revise
                return decided(draft, old, new, place, session_id)
        elif old := self._equal(draft, new, key):
            return self._repeat(draft, old, new, place, session_id)
        return self._add(draft, new, place, session_id, scope)

    def _equal(self, draft: Draft, new: Prepared, key: dict[str, str]) -> Observation | None:
        """Return the row that says the same; of a note one of its own day, which it is a line of."""
        key |= {"content_hash": new.content_hash, "type": new.type, "title": new.title}
        about, now = new.about, self._journal.now()
        if new.type != "note":
            return table.equal_text(self._store, **key, about=about, now=now)
        day = self._journal.calendar.day_of(draft.said_at or now)
        since, until = self._journal.calendar.moments(day, day + timedelta(days=1))
        return table.equal_text(self._store, **key, about=about, now=now, since=since, until=until)

    def _fact(self, draft: Draft, new: Prepared, place: Place, session_id: str, scope: str, rules: Rules) -> Saved:
        from engram_py.memory.entities.names import names_of

        slugs = names_of(self._store, new.about or "", project=place.project, scope=scope)
        known = table.facts_about(self._store, *slugs, project=place.project, scope=scope, waiting=True)
        judgment = judged(new.content, known, rules)
        if judgment.refused:
            raise InvalidInputError(
                f"rejected: {judgment.refused}",
                hint="write a sentence that stays true, or save it as type note, which is not judged",
                code="fact_refused",
                facts={"outcome": "rejected", "reason": judgment.refused},
            )
        if judgment.same is not None:
            answer = self._repeat(draft, judgment.same, new, place, session_id)
            return replace(answer, outcome="deduped", likeness=round(judgment.alike, 2))
        saved = self._add(draft, new, place, session_id, scope)
        older = []
        for old, phrase in judgment.replaced:
            is_older = draft.said_at is None or old.updated_at <= draft.said_at
            older += [old] if is_older else []
            newer, gone = (saved.id, old.id) if is_older else (old.id, saved.id)
            why = f'both say "{phrase}", and this one was said later'
            self._relations.compare(newer, gone, "supersedes", confidence=1.0, reasoning=why, by="upkeep")
        if not older:
            return saved
        notes = tuple(RelationNote("replaced", old.id, old.title) for old in older)
        return replace(saved, outcome="superseded", replaced=notes)

    def _add(self, draft: Draft, new: Prepared, place: Place, session_id: str, scope: str) -> Saved:
        now, clock, sync_id = self._journal.now(), self._journal.stamp(), new_sync_id("obs")
        suggestion = self._suggestion(new, place.project, scope)
        row_id = self._store.insert(
            "observations",
            new.columns
            | {
                "sync_id": sync_id,
                "session_id": session_id,
                "project": place.project,
                "scope": scope,
                "origin": draft.origin,
                "about": new.about,
                "entity_kind": draft.entity_kind,
                "category": draft.category,
                "source": draft.source,
                "source_ref": draft.source_ref,
                "review_after": review_date(new.type, self._journal.moment()),
                "duplicate_count": 1,
                "git_branch": clean_branch(place.branch),
                "git_commit": place.commit,
                "last_seen_at": now,
                "created_at": draft.said_at or now,
                "updated_at": draft.said_at or now,
                "clock": clock,
                "suggested_key": suggestion.topic_key if suggestion and not suggestion.existing_id else None,
            },
        )
        self._journal.changed("observation", sync_id, project=place.project, clock=clock)
        if _can_be_taken_back(draft, new):
            table.keep_save(self._journal, row_id, sync_id, new.title, new.content)
        saved = self._answer("added", row_id, new, place)
        if suggestion is None:
            return saved
        return replace(saved, suggested_topic_key=suggestion.topic_key, topic_holder=suggestion.existing_id)

    def _suggestion(self, new: Prepared, project: str, scope: str) -> Suggestion | None:
        """Return a topic key for a new row without one: that of a near topic, else one made from the row."""
        if new.topic_key or new.about or new.type in ("session_summary", "passive", "entity"):
            return None
        key = suggest_topic_key(type=new.type, title=new.title, content=new.content)
        return near_topic(self._store, key, project=project, scope=scope) or Suggestion(key, None, None)

    def _revise(self, draft: Draft, old: Observation, new: Prepared, place: Place, session_id: str) -> Saved:
        now, clock = self._journal.now(), self._journal.stamp()
        if new.type == DEFAULT_TYPE:  # nobody gave one
            new = replace(new, type=old.type)
        if (old.title, old.content) != (new.title, new.content):
            table.keep_version(self._store, old, clock=clock)
        aliases = new.aliases or old.aliases
        values = new.columns | {
            "session_id": session_id,
            "origin": draft.origin,  # whoever wrote the present text
            **adopted(old),
            "aliases": aliases,
            "entity_kind": draft.entity_kind or old.entity_kind,
            "terms": derived_terms(new.title, new.topic_key or "", aliases, new.content),
            "lifecycle": "active",
            "review_after": review_date(new.type, self._journal.moment()),
            "git_branch": clean_branch(place.branch) or old.git_branch,
            "git_commit": place.commit or old.git_commit,
            "revision_count": old.revision_count + 1,
            "last_seen_at": now,
            "updated_at": max(now, old.updated_at),  # it holds the topic: no other row takes it by a clock ahead
            "clock": clock,
        }
        self._store.update("observations", {"id": old.id}, values)
        if _can_be_taken_back(draft, new):
            table.keep_change(self._journal, old, values, clock=clock)
        notes = self._end_verdicts(old, clock) if old.lifecycle != "active" else ()
        self._journal.changed("observation", old.sync_id, project=old.project, clock=clock)
        answer = self._answer("updated", old.id, new, place)
        return replace(answer, warnings=(*answer.warnings, *notes))

    def _end_verdicts(self, old: Observation, clock: str) -> tuple[Reason, ...]:
        """Withdraw the verdicts that replaced an older text of this topic; the notes name what had replaced it."""
        said = []
        for verdict in relations.replacing(self._store, old.sync_id):
            values = {"superseded_at": self._journal.now(), "clock": clock}
            self._store.update("memory_relations", {"id": verdict.id}, values)
            self._journal.changed("relation", verdict.sync_id, project=verdict.project, clock=clock)
            newer = table.by_sync_id(self._store, verdict.source_id)
            said += [reason("current_again", id=newer.id, title=newer.title)] if newer else []
        relations.settle(self._store, [old.sync_id])
        return tuple(said)

    def _repeat(self, draft: Draft, old: Observation, new: Prepared, place: Place, session_id: str) -> Saved:
        now, clock = self._journal.now(), self._journal.stamp()
        values: dict[str, Any] = {"duplicate_count": old.duplicate_count + 1, "last_seen_at": now, "clock": clock}
        if (old.title, old.content) == (new.title, new.content):
            values |= adopted(old)  # it is said here as well
        is_confirmed = old.unchecked == WAITS and (draft.origin != "derived" or old.session_id != session_id)
        if is_confirmed:
            values |= {"origin": "user" if draft.origin == "derived" else draft.origin}
        known = [alias for alias in old.aliases.split("; ") if alias]
        aliases = "; ".join(dict.fromkeys([*known, *(alias for alias in new.aliases.split("; ") if alias)]))
        if aliases != old.aliases:
            terms = derived_terms(old.title, old.topic_key or "", aliases, old.content)
            values |= {"aliases": aliases, "terms": terms}
        self._store.update("observations", {"id": old.id}, values)
        if is_confirmed:
            relations.settle(self._store, [old.sync_id])
        self._journal.changed("observation", old.sync_id, project=old.project, clock=clock)
        return self._answer("duplicate", old.id, new, place)

    def _answer(self, outcome: Outcome, row_id: int, new: Prepared, place: Place) -> Saved:
        row = table.by_id(self._store, row_id)
        assert row is not None
        return Saved(
            outcome=outcome,
            **row.shared_with(Saved),
            project_source=place.source,
            project_path=place.path,
            state=row.state(self._journal.moment()),
            truncation=new.truncation,
            redacted=new.redacted,
            warnings=(*new.warnings, *misspelled_type_note(new.type), *place.warnings),
        )


def adopted(old: Observation) -> dict[str, Any]:
    """Return the columns of a row whose text is said here from now on: the pin and the guards that came with it are
    nobody's."""
    return {"arrival": None} | ({"guards": None, "pinned": 0} if old.author is not None else {})


def review_date(kind: str, now: datetime) -> str | None:
    """Return when an observation of this type is due for review; None: never by its age."""
    months = REVIEW_MONTHS.get(kind)
    return None if months is None else to_text(add_months(now, months))


def _says_the_same(old: Observation, new: Prepared) -> bool:
    old_facts = (old.title, old.type, old.topic_key, old.content)
    return old_facts == (new.title, new.type, new.topic_key, new.content) and new.aliases in ("", old.aliases)


def _can_be_taken_back(draft: Draft, new: Prepared) -> bool:
    """Return whether a save is somebody's own: what is derived or imported fills no log of changes."""
    return draft.origin in ("user", "agent") and new.type not in ("session_summary", "entity")
