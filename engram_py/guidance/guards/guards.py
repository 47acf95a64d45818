"""Say before a tool runs what the decisions here speak against, record what came of it, and keep guards."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.capture.acts import Act
from engram_py.base.dataclass import replace
from engram_py.base.errors import ConflictError, InvalidArgumentError, InvalidInputError, StoreError
from engram_py.base.git.repository import find_repository
from engram_py.base.reasons import reason
from engram_py.guidance.guards.values import (
    MOST_GUARDS,
    OVERRULED_OFTEN,
    Broken,
    Checked,
    Guard,
    GuardLine,
    GuardSet,
    NoGuardError,
    Objection,
    Offered,
    Silenced,
    from_json,
    to_json,
)
from engram_py.memory.observations.table import VISIBLE
from engram_py.memory.privacy.provenance import RETIRED, author_of, unchecked
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions import table as session_table

if TYPE_CHECKING:
    from engram_py.base.database.store import Row
    from engram_py.guidance.guards.matching import Scene
    from engram_py.guidance.ledger.moments import Moments
    from engram_py.memory.sessions.sessions import Sessions
    from engram_py.memory.writing.observations import Observations

_LIVE = "guards is not null and deleted_at is null"
_ANY = f"select 1 from observations indexed by observations_guards where {_LIVE} limit 1"
_GUARDED = f"""
select id, title, type, project, guards, {unchecked("observations")} as unchecked, id in ({RETIRED}) as retired
from observations indexed by observations_guards
where {_LIVE} and lifecycle = 'active' and {VISIBLE}
  and id not in (select observation_id from silences where session_id = :session_id)
order by id
"""
_SPOKE_LAST = """
select moments.session_id from moments join sessions on sessions.id = moments.session_id
where observation_id = :id and kind = 'guard' and given order by sessions.ended_at is null desc, moments.id desc limit 1
"""
_OPEN = (
    "select id from sessions where ended_at is null and project = :project order by updated_at desc, id limit :limit"
)
_SILENCE = """
insert into silences (session_id, observation_id, silenced_at) values (:session_id, :id, :now) on conflict do nothing
"""
_MOST_SUBJECT_CHARS = 1_000
_AROUND_BYTES = 40  # of the sentence around the title and what to use
_MOST_OPEN = 50


class Guards:
    """Speaks before an act, and records whether it was heeded. ``directory`` gives this process's."""

    def __init__(
        self,
        core: Core,
        moments: Moments,
        *,
        observations: Callable[[], Observations],
        sessions: Callable[[], Sessions],
        directory: Callable[[], Path],
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._moments, self._where = moments, directory
        self._observations, self._sessions = observations, sessions

    @cached_property
    def _directory(self) -> Path:
        return self._where()

    # --- while an agent works ----------------------------------------------------------------------------------------

    def before(
        self, act: Act, *, session_id: str, directory: Path, until: float, only_denials: bool = False
    ) -> Objection | None:
        """Return what is to be said before a tool does ``act``, None for nothing.

        What only warns says the same about the same file or command once a session; what denies says it every time. A
        guard from elsewhere says once that a person has to trust it. ``only_denials`` is for an agent whose model reads
        nothing before the tool ran: it is warned afterwards. ``until`` is a moment of ``time.monotonic``.
        """
        if act.is_nothing or not self.any():
            return None
        rows = self._guarded(session_id)
        if not rows:
            return None
        scene = _scene(act, directory)
        broken: list[Broken] = []
        strange: list[int] = []
        for row, one in _broken(rows, scene, until):
            if only_denials and (row["unchecked"] or not one.guard.strict):
                continue
            if row["unchecked"]:
                strange += [one.id] if one.id not in strange else []
            elif one.guard.strict or self._moments.last(session_id, one.id, "guard", one.subject) is None:
                broken.append(one)
        held = {one.id for one in broken if not one.guard.strict and self._holds_back(session_id, one)}
        spoken = tuple(one for one in broken if one.id not in held or one.guard.strict)
        said = Objection(session_id, spoken, tuple(strange))
        if broken or strange:
            with suppress(StoreError):  # it is said all the same
                self._record(replace(said, broken=tuple(broken)), directory, held)
        return said if spoken or strange else None

    def _holds_back(self, session_id: str, one: Broken) -> bool:
        return self._moments.holds_back(session_id, "guard", f"#{one.id}")

    def after(self, act: Act, *, session_id: str, directory: Path | None = None) -> None:
        """Record what came of an act that was done: the one that was warned of, one like it in spite of that, or what
        the guard asks for.

        The tool runs beside the warning, so the act itself tells nothing of the agent; the next one does.
        """
        spoke = self._moments.unsettled(session_id, "guard")
        if not spoke or act.is_nothing:
            return
        concerned = {row["observation_id"] for row in spoke}
        rows = [row for row in self._guarded(session_id) if row["id"] in concerned]
        scene = _scene(act, directory or self._directory, done=True)
        broken = {one.id: one for _, one in _broken(rows, scene, time.monotonic() + 1)}
        for one in broken.values():
            mine = [row for row in spoke if row["observation_id"] == one.id]
            done = [row["outcome_at"] for row in mine if row["outcome_at"]]
            own = next((row for row in mine if row["subject"] == one.subject), None)
            # Of acts at the same time none had been read about when the others began.
            read = done and (own is None or own["outcome_at"] or own["given_at"] > min(done))
            if read:
                self._moments.came(session_id, one.id, "guard", "ignored", over=("heeded",))
            elif own is not None:
                self._moments.happened(session_id, one.id, "guard", own["subject"])
        done_once = {row["observation_id"] for row in spoke if row["outcome_at"] and not row["outcome"]}
        for row in rows:
            if row["id"] in done_once - broken.keys() and _heeded(row, scene):
                self._moments.came(session_id, row["id"], "guard", "heeded")

    def settle(self, session_id: str) -> None:
        """Take the guards that spoke in a session before an act which was not done for heeded. Later acts may change
        that; of an act that was done nothing is known until a later one tells."""
        spoke = self._moments.unsettled(session_id, "guard")
        for one in {row["observation_id"] for row in spoke if not row["outcome_at"]}:
            self._moments.came(session_id, one, "guard", "heeded")

    def off(self, observation_id: int, *, session_id: str | None = None, everywhere: bool = False) -> Silenced:
        """Silence the guards of an observation in a session: the one given, else the one above this process or the one
        they spoke in last; with ``everywhere`` in all that are open. Overruled in three sessions, it is due for review.

        Raises ObservationNotFoundError, NoGuardError, InvalidInputError (no_session).
        """
        row = self._one(observation_id)
        sessions = self._meant(row, session_id, everywhere=everywhere)
        with self._store.transaction():
            for one in sessions:
                self._silence(one, row["id"])
                self._moments.came(one, row["id"], "guard", "overruled", over=("ignored", "heeded"))
            overruled = self._moments.overruled(row["id"], "guard")
            often = overruled >= OVERRULED_OFTEN
            if often:
                self._observations().ask_for_review(row["id"])
        return Silenced(row["id"], row["title"], tuple(sessions), overruled, often)

    def on(self, observation_id: int) -> Silenced:
        """Let the guards of an observation speak again wherever they were silenced."""
        row = self._one(observation_id)
        with self._store.transaction():
            self._store.execute("delete from silences where observation_id = :id", id=row["id"])
        return Silenced(row["id"], row["title"], (), self._moments.overruled(row["id"], "guard"), False)

    # --- what is guarded ---------------------------------------------------------------------------------------------

    def any(self) -> bool:
        """Return whether anything here has a guard: one look at an index."""
        return self._store.row(_ANY) is not None

    def add(self, observation_id: int, guard: Guard) -> GuardSet:
        """Give an observation a guard. Raises ObservationNotFoundError, InvalidArgumentError, ConflictError
        (foreign_guard, or guard_too_wide: it would speak at most of what is done here)."""
        from engram_py.guidance.guards.diff import reach_of
        from engram_py.guidance.guards.matching import checked

        guard = checked(guard if guard.by else replace(guard, by=self._author()))
        row = self._one(observation_id, guarded=False)
        kept = from_json(row["guards"])
        if row["unchecked"]:
            raise ConflictError(
                f"#{row['id']} came from elsewhere and is not trusted",
                hint=f"read it, then run `engram trust {row['id']}`",
                code="foreign_guard",
                facts={"id": row["id"]},
            )
        if len(kept) >= MOST_GUARDS:
            said = f"an observation has at most {MOST_GUARDS} guards"
            raise InvalidArgumentError("guard", said=said, step=f"remove one: `engram guard remove {row['id']} NUMBER`")
        reach = reach_of(guard, find_repository(self._directory))
        reach.check()
        others = [one for one in kept if replace(one, by=guard.by) != guard]
        self._observations().guard(row["id"], to_json((*others, guard)))
        return GuardSet("added", row["id"], row["title"], guard, reach.hits, reach.commits)

    def accept(self, observation_id: int, *, strict: bool = False) -> GuardSet:
        """Give an observation the guard that its text offers. Raises as ``add``, and NoGuardError: it offers none."""
        from engram_py.guidance.guards.proposals import proposal

        row = self._one(observation_id, guarded=False)
        guard = proposal(row["title"], row["content"])
        if guard is None:
            raise NoGuardError(row["id"], offered=True)
        return replace(self.add(row["id"], replace(guard, strict=strict)), outcome="accepted")

    def unaccept(self, observation_id: int) -> GuardSet:
        """Take an acceptance back: the text offers its guard again. Raises ObservationNotFoundError, NoGuardError."""
        removed = self.remove(observation_id)
        self._observations().guard(removed.id, None)
        return removed

    def decline(self, observation_id: int) -> GuardSet:
        """Offer no guard of an observation again, and remove those it has."""
        row = self._one(observation_id, guarded=False)
        self._observations().guard(row["id"], "[]")
        return GuardSet("declined", row["id"], row["title"])

    def remove(self, observation_id: int, number: int | None = None) -> GuardSet:
        """Take one guard of an observation away, or all of them. Raises ObservationNotFoundError, NoGuardError."""
        row = self._one(observation_id)
        kept = from_json(row["guards"])
        if number is not None and not 1 <= number <= len(kept):
            raise NoGuardError(row["id"])
        left = kept[: number - 1] + kept[number:] if number is not None else ()
        self._observations().guard(row["id"], to_json(left))
        return GuardSet("removed", row["id"], row["title"], kept[number - 1] if number else None)

    def listed(self, project: str | None = None, *, all_projects: bool = False) -> tuple[GuardLine, ...]:
        """Return the guards that are seen in a project, those from elsewhere that nobody trusted among them."""
        reads = self._projects.for_read(project, all_projects=all_projects, head=False).reads
        rows = self._store.rows(_GUARDED, projects=reads, session_id="")
        return tuple(line for row in rows for line in self._lines(row))

    def offered(self, project: str | None = None, *, all_projects: bool = False, limit: int = 50) -> list[Offered]:
        """Return the guards that the texts here offer and nobody answered, of the latest 200 decisions."""
        from engram_py.guidance.guards.proposals import offers

        reads = self._projects.for_read(project, all_projects=all_projects, head=False).reads
        return offers(self._store, reads, limit=limit)

    def check(self, what: Sequence[str] = (), *, staged: bool = False) -> Checked:
        """Return where staged changes, a range of commits or files break the guards here. Raises NoDiffError."""
        from engram_py.guidance.guards.diff import changes_of, found_in

        repository = find_repository(self._directory)
        changes = changes_of(what, repository, self._directory, staged=staged)
        rows = self._guarded("")
        own = [row for row in rows if not row["unchecked"]]
        strange = len(rows) - len(own)
        notes = [reason("guards_unchecked", count=strange)] if strange else []
        guards = [(row["id"], row["title"], row["type"], guard) for row in own for guard in from_json(row["guards"])]
        if unread := changes.unread(guard for *_, guard in guards):
            notes.append(reason("changes_unread", files=unread))
        return Checked(found_in(guards, changes), len(guards), len(changes.files), tuple(notes))

    # --- the parts of these ------------------------------------------------------------------------------------------

    def _guarded(self, session_id: str) -> list[Row]:
        reads = self._projects.for_read(session_id=session_id or None, head=False).reads
        return self._store.rows(_GUARDED, projects=reads, session_id=session_id)

    def _record(self, said: Objection, directory: Path, held: Collection[int]) -> None:
        with self._store.transaction():
            if session_table.by_id(self._store, said.session_id) is None:
                place = self._projects.for_write(session_id=said.session_id, directory=str(directory))
                self._sessions().ensure(said.session_id, place)
            for one in said.broken:
                given = one.guard.strict or one.id not in held
                size = len(f"{one.title}{one.guard.use}{one.subject}".encode()) + _AROUND_BYTES if given else 0
                self._moments.add(said.session_id, one.id, "guard", one.subject, given=given, size=size)
            for strange in said.unchecked:
                self._silence(said.session_id, strange)

    def _silence(self, session_id: str, observation_id: int) -> None:
        self._store.execute(_SILENCE, session_id=session_id, id=observation_id, now=self._journal.now())

    def _one(self, observation_id: int, *, guarded: bool = True) -> Row:
        from engram_py.memory.observations.arguments import live_observation

        found = live_observation(self._store, observation_id)
        sql = f"select *, {unchecked('observations')} as unchecked from observations where id = :id"
        row = self._store.row(sql, id=found.id)
        assert row is not None
        if guarded and not from_json(row["guards"]):
            raise NoGuardError(found.id)
        return row

    def _meant(self, row: Row, session_id: str | None, *, everywhere: bool) -> list[str]:
        if session_id:
            return [self._sessions().get(session_id).id]
        project = self._projects.for_read(head=False).project or row["project"]
        if everywhere:
            sessions = [one for [one] in self._store.tuples(_OPEN, project=project, limit=_MOST_OPEN)]
        else:
            from engram_py.memory.sessions.sessions import ancestors, hosted

            found = hosted(self._store, project, ancestors()) or self._store.value(_SPOKE_LAST, id=row["id"])
            sessions = [found or self._store.value(_OPEN, project=project, limit=1)]
        if not sessions or not sessions[0]:
            raise InvalidInputError(
                "this project has no open session here",
                hint="pass --session ID; `engram sessions` lists them",
                code="no_session",
            )
        return sessions

    def _lines(self, row: Row) -> Iterable[GuardLine]:
        counts = self._moments.counts(row["id"]).get("guard")
        overruled = self._moments.overruled(row["id"], "guard") if counts else 0
        for number, guard in enumerate(from_json(row["guards"]), 1):
            yield GuardLine(
                row["id"],
                number,
                row["title"],
                row["project"],
                guard,
                fired=counts.given if counts else 0,
                heeded=counts.heeded if counts else 0,
                ignored=counts.ignored if counts else 0,
                overruled=overruled,
                to_review=overruled >= OVERRULED_OFTEN,
                unchecked=author_of(row["unchecked"]) if row["unchecked"] else None,
            )

    def _author(self) -> str:
        """Return the name that git signs commits with here, else the name of the user of this machine."""
        from engram_py.base.capture.redact import redact
        from engram_py.base.git.program import user_name

        repository = find_repository(self._directory)
        name = user_name(repository.root if repository else None, lambda said: " ".join(said.split()))
        return "" if redact(name).count else name[:80]


def _scene(act: Act, directory: Path, *, done: bool = False) -> Scene:
    from engram_py.guidance.guards.matching import Scene

    repository = find_repository(directory)
    root, branch = (repository.root, repository.branch) if repository else (directory, None)
    return Scene(act, directory=directory, root=root, branch=branch, done=done)


def _broken(rows: Sequence[Row], scene: Scene, until: float) -> Iterable[tuple[Row, Broken]]:
    """Yield the guards that an act breaks, those that deny first: they are looked at whatever the time is."""
    from engram_py.guidance.guards.matching import breaks

    guards = [(row, guard) for row in rows for guard in from_json(row["guards"])]
    for row, guard in sorted(guards, key=lambda one: not one[1].strict):
        if row["retired"] and not guard.strict:  # it was wrong too often, until somebody reviews it
            continue
        if time.monotonic() > until and not guard.strict:
            return
        try:
            subject = breaks(guard, scene)
        except InvalidArgumentError:  # another version's, whose patterns say more
            continue
        if subject:
            from engram_py.base.capture.redact import redact  # few acts break anything

            yield row, Broken(row["id"], row["title"], row["type"], guard, redact(subject).text[:_MOST_SUBJECT_CHARS])


def _heeded(row: Row, scene: Scene) -> bool:
    """Return whether an act that breaks no guard of an observation does what one of them asks for."""
    from engram_py.guidance.guards.matching import heeds

    with suppress(InvalidArgumentError):  # another version's, whose patterns say more
        return any(heeds(guard, scene) for guard in from_json(row["guards"]))
    return False
