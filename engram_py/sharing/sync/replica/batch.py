"""The state of one batch of mutations while it is applied, inside its transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from engram_py.base.clock import dated, is_ahead
from engram_py.base.database import mutation_queue
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, field
from engram_py.memory.observations.topics import Topic, topic_of, unshow
from engram_py.memory.privacy import provenance
from engram_py.memory.privacy.signatures import Keyring, row_signer
from engram_py.memory.projects import table as project_table
from engram_py.memory.sessions.table import MADE_UP
from engram_py.sharing.sync.mutation import (
    OWN_BLOCK,
    SIGNATURE,
    SPOKEN,
    UNCHECKED,
    Mutation,
    Names,
    above,
    precedence,
    signed_content,
    version_digest,
    version_key,
    wins,
)
from engram_py.sharing.sync.replica import table
from engram_py.sharing.sync.replica.columns import EPOCH
from engram_py.sharing.sync.replica.outgoing import Outgoing

_CLAIM_CHARS = 80
_MOST_KEPT_ID = 10**9
# The source of a state that this machine itself held: when its time comes, all others have to hear of it.
HERE = "here"


@dataclass
class Batch:
    """The state shared by the parts that apply a batch. ``arrived`` are observations that deferred rows may wait for,
    ``linked`` those whose relations have to be settled."""

    store: Store
    journal: Journal
    source: str
    now_milliseconds: int
    names: Names
    keys: Keyring
    topics: set[Topic] = field(default_factory=set)
    renumbered: set[int] = field(default_factory=set)
    arrived: set[str] = field(default_factory=set)
    linked: set[str] = field(default_factory=set)
    newest: str = ""
    ahead: int = 0
    destroyed: bool = False
    aliased: bool = False
    # The numbers that rows of Engram have where they come from, by table: they keep them while they are free.
    offered: dict[str, list[object]] = field(default_factory=dict)
    author: str = ""
    author_name: str = ""
    signed_by: str = ""  # the key of who signed the whole that the rows came in
    own: bool = False  # what is applied was held here before
    _ids: dict[str, LocalIds] = field(default_factory=dict)
    _arrivals: dict[tuple[str, str, str], int] = field(default_factory=dict)
    _signers: dict[int, tuple[dict[str, Any], tuple[str, str]]] = field(default_factory=dict)
    _now: str = ""
    _projects: set[str] = field(default_factory=set)
    _sessions: dict[str, str] = field(default_factory=dict)

    @property
    def is_import(self) -> bool:
        """Return whether the rows come from a file that the user imports, which may contain personal rows."""
        return self.source == provenance.IMPORT

    @property
    def now(self) -> str:
        if not self._now:
            self._now = self.journal.now()
        return self._now

    # --- what is here ------------------------------------------------------------------------------------

    def row(self, entity: str, key: str) -> Row | None:
        """Return the local row, with the project it was given."""
        return table.one(self.store, entity, key)

    def tombstone(self, entity: str, key: str) -> Row | None:
        sql = "select * from tombstones where entity = :entity and entity_key = :key"
        return self.store.row(sql, entity=entity, key=key)

    def is_buried(self, mutation: Mutation) -> bool:
        """Return whether the row was deleted when ``mutation`` was made, or later."""
        stone = self.tombstone(mutation.entity, mutation.entity_key)
        return stone is not None and self._rank_here(mutation, stone["clock"]) >= _rank(mutation)

    def project(self, given: str) -> str:
        """Return the present project of ``given``, made when it is new."""
        name = self.names.canonical(given)
        if name and name not in self._projects:  # a relation whose ends are nowhere has none
            values = {"name": name, "display_name": name, "created_at": self.now, "updated_at": self.now}
            if not project_table.exists(self.store, name):
                self.store.insert("projects", values | {"clock": table.MADE_UP})
            self._projects.add(name)
        return name

    def session(self, session_id: str, project: str) -> None:
        """Make a stand-in for a session that no machine sent: equal on all machines, never sent itself."""
        if self._sessions.get(session_id, "~") <= project:
            return
        known = self.store.row("select project, clock from sessions where id = :id", id=session_id)
        if known is None:
            values = {"id": session_id, "project": project, "directory": MADE_UP}
            moments = {"started_at": EPOCH, "updated_at": EPOCH, "clock": table.MADE_UP}
            self.store.insert("sessions", values | moments)
        elif known["clock"] == table.MADE_UP and project < known["project"]:
            self.store.update("sessions", {"id": session_id}, {"project": project})
        self._sessions[session_id] = project

    def new_id(self, name: str, number: object) -> dict[str, int]:
        """Return the id for a new row, where rows of the batch bring numbers; else the table chooses."""
        if name not in self.offered:
            return {}
        if name not in self._ids:
            self._ids[name] = LocalIds(self.store, name, self.offered[name])
        return {"id": self._ids[name].of(number)}

    def signer(self, mutation: Mutation) -> str:
        """Return the key of the person who signed a row, empty without one: that of the row, else of what holds it."""
        if mutation.entity not in SPOKEN:
            return ""
        block = mutation.payload.get(OWN_BLOCK) or {}
        if signer := self._row_signer(mutation):
            return signer
        return "" if block.get(UNCHECKED) or _is_of_one_person(mutation) else self.signed_by

    def _row_signer(self, mutation: Mutation) -> str:
        """Return who signed a row itself. The payload is kept beside it, so that its address stays its own."""
        signature = (mutation.payload.get(OWN_BLOCK) or {}).get(SIGNATURE)
        if not signature:
            return ""
        known, signer = self._signers.get(id(mutation.payload), (None, ("", "")))
        if known is not mutation.payload or signer[0] != mutation.clock:
            signer = mutation.clock, row_signer(signed_content(mutation), signature)
            self._signers[id(mutation.payload)] = mutation.payload, signer
        return signer[1]

    def is_own(self, mutation: Mutation) -> bool:
        """Return whether the person of this memory signed a row, or wrote it by hand here."""
        claim = (mutation.payload.get(OWN_BLOCK) or {}).get(UNCHECKED)
        signer = self.signer(mutation)
        return bool(signer and signer in self.keys.own) or (self.own and not claim)

    def arrival(self, mutation: Mutation) -> int | None:
        """Return where a row comes from; None of what is the person's own.

        A signature names the author, else the door does, unless the sender says that the row is of somebody else. What
        Engram wrote as personal into a folder is of one person, whoever else is trusted there.
        """
        if self.is_own(mutation):
            return None
        claim = str((mutation.payload.get(OWN_BLOCK) or {}).get(UNCHECKED) or "")[:_CLAIM_CHARS]
        if _is_of_one_person(mutation):
            claim = claim or self.author_name or "one person"
        signer = self.signer(mutation)
        key = (self.source, signer, claim)
        if key not in self._arrivals:
            self._arrivals[key] = (
                provenance.arrival_of(self.store, self.source, signer, claim or self.author_name)
                if signer
                else provenance.relayed(self.store, self.source, claim)
                if claim
                else provenance.arrival_of(self.store, self.source, self.author, self.author_name)
            )
        return self._arrivals[key]

    def keep_signature(self, mutation: Mutation) -> None:
        """Keep the signature of another person, who alone can make it, for whoever reads the row from here."""
        if mutation.op == "upsert" and mutation.entity in SPOKEN and self._row_signer(mutation):
            signature = mutation.payload[OWN_BLOCK][SIGNATURE]
            row = {"entity": mutation.entity, "entity_key": mutation.entity_key, "clock": mutation.clock}
            self.store.insert("signatures", row | {"signature": signature}, replace=True)

    def outranks(self, mutation: Mutation, columns: Mapping[str, Any], clock: str, here: Mapping[str, Any]) -> bool:
        """Return whether a state that arrived replaces the one that is here at ``clock``.

        One dated ahead that an older program took in counts for nothing before its time: it waits from now on.
        """
        if self.is_ahead(clock):
            for state in Outgoing(self.store, prompts=True).rows(mutation.entity, [mutation.entity_key]):
                self.wait(state, source=HERE)
            return True
        return wins(_rank(mutation), columns, self._rank_here(mutation, clock), here)

    def is_later(self, mutation: Mutation, clock: str) -> bool:
        """Return whether a deletion comes after the state that is here at ``clock``."""
        return self.is_ahead(clock) or _rank(mutation) > self._rank_here(mutation, clock)

    def _rank_here(self, mutation: Mutation, clock: str) -> str:
        sql = "select clock from sync_ahead where entity = :entity and entity_key = :key"
        over = self.store.value(sql, entity=mutation.entity, key=mutation.entity_key)
        return precedence(clock, over or "")

    # --- what became of it -------------------------------------------------------------------------------

    def record(self, mutation: Mutation, *, project: str, given: str = "") -> None:
        """Record a state that was applied: for the other targets, and for the clock."""
        entity, key, clock = mutation.entity, mutation.entity_key, mutation.clock
        self.queue(entity, key, mutation.op, project=project, clock=clock, at=mutation.occurred_at, source=self.source)
        if given and given != project:
            self.renamed(entity, key, given, clock)
        if mutation.op == "upsert":
            sql = "delete from tombstones where entity = :entity and entity_key = :key"
            self.store.execute(sql, entity=entity, key=key)
        self.advance_clock(clock)
        self.keep_signature(mutation)
        if not self.stand_above(mutation):
            sql = "delete from sync_ahead where entity = :entity and entity_key = :key"
            self.store.execute(sql, entity=entity, key=key)

    def stand_above(self, mutation: Mutation) -> bool:
        """Let the row here stand above the date ahead that ``mutation`` corrects; False if it corrects none."""
        row = {"entity": mutation.entity, "entity_key": mutation.entity_key, "clock": above(mutation)}
        if row["clock"]:
            self.store.insert("sync_ahead", row, replace=True)
        return bool(row["clock"])

    def advance_clock(self, clock: str) -> None:
        """Advance our clock to a row's."""
        self.newest = max(self.newest, clock)

    def is_ahead(self, clock: str) -> bool:
        """Return whether a state has to wait: it is dated more than a day after now."""
        return is_ahead(clock, now_milliseconds=self.now_milliseconds)

    def queue(
        self, entity: str, key: str, op: str, *, project: str, clock: str, at: str = "", source: str = ""
    ) -> None:
        row = {"entity": entity, "entity_key": key, "op": op, "project": project, "clock": clock, "source": source}
        mutation_queue.enqueue(self.store, **row, occurred_at=at or self.now)

    def touch(self, row: Mapping[str, Any] | Row) -> None:
        """Note that who claims the topic of this row changes."""
        if row["topic_key"]:
            self.topics.add(topic_of(row))

    def leave(self, here: Row) -> None:
        """Note that a row may claim its topic no more."""
        self.touch(here)
        unshow(self.store, here["sync_id"])

    def renamed(self, entity: str, key: str, given: str, clock: str) -> None:
        row = {"entity": entity, "entity_key": key, "project": given, "clock": clock}
        self.store.insert("sync_renamed", row, replace=True)

    def add_version(
        self,
        row_id: int,
        sync_id: str,
        text: tuple[str, str, str],
        *,
        clock: str,
        arrival: int | None,
        untaken: bool,
    ) -> bool:
        """Return whether the older text ``(updated_at, title, content)`` is new here; it is queued for the other
        machines. ``untaken``: it waits in Review."""
        at, title, content = text
        digest = version_digest(at, title, content)
        columns = {"digest": digest, "title": title, "content": content, "at": at, "clock": clock, "arrival": arrival}
        if not table.add_version(self.store, row_id, **columns, untaken=untaken):
            return False
        self.renumbered.add(row_id)
        row = self.store.row("select * from observations where id = :id", id=row_id)
        assert row is not None
        self.touch(row)  # what holds its topic shows it
        self.queue("version", version_key(sync_id, digest), "upsert", project=row["project"], clock=clock)
        return True

    def add_tombstone(self, mutation: Mutation, *, deleted_at: str, final: bool) -> None:
        old = self.tombstone(mutation.entity, mutation.entity_key)
        if old is not None and bool(old["final"]) >= final and self.is_buried(mutation):
            return
        session_id = mutation.payload.get("session_id")
        stone = {
            "entity": mutation.entity,
            "entity_key": mutation.entity_key,
            "project": mutation.project,
            "session_id": session_id if isinstance(session_id, str) else None,
            "deleted_at": deleted_at,
            "clock": max(mutation.clock, old["clock"] if old is not None else ""),
        }
        mutation_queue.add_tombstone(self.store, stone, final=final)

    def refused(self, mutation: Mutation) -> bool:
        """Return whether the row itself arrived and could not be read."""
        sql = """
        select 1 from sync_apply_deferred
        where entity = :entity and entity_key = :entity_key and op = 'upsert' and apply_status = 'dead'
        """
        return self.store.row(sql, entity=mutation.entity, entity_key=mutation.entity_key) is not None

    def wait(self, mutation: Mutation, *, source: str | None = None) -> None:
        """Keep a state that is dated ahead until its time comes. The caller has redacted its text."""
        self.ahead += 1
        self.defer(
            mutation, waits_for="", reason=f"dated {dated(mutation.clock)}: it waits for its time", source=source
        )

    def defer(
        self, mutation: Mutation, *, waits_for: str, reason: str, dead: bool = False, source: str | None = None
    ) -> None:
        """Defer a mutation until ``waits_for`` is here, or for good (``dead``). The caller has redacted its text."""
        key = {
            "target_key": self.source if source is None else source,
            "entity": mutation.entity,
            "entity_key": mutation.entity_key,
            "op": mutation.op,
        }
        # Of what waits for another row the latest is enough; what waits for its time has one of its own.
        same = """
        from sync_apply_deferred
        where target_key = :target_key and entity = :entity and entity_key = :entity_key and op = :op
          and (reason_code = :reason_code and :reason_code <> 'dated_ahead' or clock = :clock)
        """
        code = "unreadable" if dead else "waits_for_observation" if waits_for else "dated_ahead"
        names = {**key, "reason_code": code, "clock": mutation.clock}
        if (self.store.value(f"select max(clock) {same}", **names) or "") > mutation.clock:
            return
        self.store.execute(f"delete {same}", **names)
        row: dict[str, Any] = {
            **key,
            "remote_seq": mutation.seq or None,
            "payload": "{}" if dead else json.dumps(mutation.payload),  # nobody redacted what could not be read
            "project": mutation.project,
            "reason_code": code,
            "apply_status": "dead" if dead else "deferred",
            "last_error": reason,
            "last_attempted_at": self.now,
            "first_seen_at": self.now,
            "waits_for": waits_for,
            "clock": mutation.clock,
        }
        self.store.insert("sync_apply_deferred", row)


def _is_of_one_person(mutation: Mutation) -> bool:
    return mutation.entity == "observation" and mutation.payload.get("scope") == "personal"


def _rank(mutation: Mutation) -> str:
    return precedence(mutation.clock, above(mutation))


class LocalIds:
    """Gives rows their former number, where no row has or ever had it."""

    def __init__(self, store: Store, table: str, offered: Iterable[object]) -> None:
        """``offered`` are the numbers that will be asked for: a row whose own is taken gets one beyond all of them."""
        self._used = int(store.value("select coalesce(max(seq), 0) from sqlite_sequence where name = :t", t=table))
        self._last = max([self._used, *(number for value in offered if (number := _id_of(value)))])
        self._given: set[int] = set()

    def of(self, offered: object) -> int:
        number = _id_of(offered)
        if number <= self._used or number in self._given:
            number = self._last = self._last + 1
        self._given.add(number)
        return number


def _id_of(offered: object) -> int:
    """Return a number as an id, 0 for an unusable one."""
    usable = isinstance(offered, int) and not isinstance(offered, bool) and 0 < offered <= _MOST_KEPT_ID
    return offered if usable else 0  # type: ignore[return-value]
