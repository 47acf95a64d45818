"""The state of one import: its counts, and the projects and sessions of its rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.reasons import Told, sentence
from engram_py.memory.observations.validation import clean_content, cut_note
from engram_py.memory.privacy import provenance
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Identities
from engram_py.memory.projects.values import InvalidProjectError, normalize_project
from engram_py.memory.sessions import table as session_table
from engram_py.sharing.interchange.results import Counts
from engram_py.sharing.sync.replica.batch import LocalIds
from engram_py.sharing.sync.replica.columns import EPOCH, made_session, nearest_project, session_key, without_nul

if TYPE_CHECKING:
    from engram_py.sharing.interchange.values import ExportIn

HERE_ALREADY = "already here, the same or newer"
DESTROYED = "destroyed, here or where it comes from"
RECOVERED_SESSION = session_table.MADE_UP
_MOST_WARNINGS = 20
_SHOWN_CHARS = 80


class ImportLedger:
    """The state shared by the parts of one import, inside its transaction."""

    def __init__(
        self, store: Store, journal: Journal, document: ExportIn, *, name: str = "", trusted: bool = False
    ) -> None:
        self.store = store
        self.journal = journal
        self.document = document
        self.own = document.engram_py
        self.counts = {
            "sessions": Counts(len(document.sessions)),
            "observations": Counts(len(document.observations)),
            "prompts": Counts(len(document.prompts)),
            "relations": Counts(len(document.relations) + len(document.engram_py.edges)),
            "versions": Counts(len(self.own.versions)),
            "tombstones": Counts(len(document.prompt_tombstones) + len(self.own.tombstones)),
        }
        self.observation_ids = LocalIds(store, "observations", (row.id for row in document.observations))
        self.prompt_ids = LocalIds(store, "user_prompts", (row.id for row in document.prompts))
        self.redacted = 0
        # Whether the user says that what the file holds is theirs: nothing in it can.
        self.trusted = trusted
        self._name = name
        self._arrivals: dict[str, int] = {}
        self._identities = Identities(store, journal)
        self._projects: dict[str | None, str] = {}
        self._sessions: set[str] = set()
        self._changed: list[tuple[str, str, str]] = []
        self._warnings: list[Told] = []
        self._unsaid = 0
        self._buried = {(row[0], row[1]) for row in store.rows("select entity, entity_key from tombstones")}

    @cached_property
    def clock(self) -> str:
        """The clock of everything this import writes. An import that changes nothing takes none."""
        return self.journal.stamp()

    def arrival(self, entity: str, key: str) -> int | None:
        """Return the arrival of a row; None of one that the user says is theirs, and that was exported as such."""
        claim = self.own.unchecked.get(entity, {}).get(key, "")[:_SHOWN_CHARS]
        if self.trusted and not claim:
            return None
        if claim not in self._arrivals:
            self._arrivals[claim] = (
                provenance.relayed(self.store, provenance.IMPORT, claim)
                if claim
                else provenance.arrival_of(self.store, provenance.IMPORT, self._name, self._name)
            )
        return self._arrivals[claim]

    @cached_property
    def now(self) -> str:
        return self.journal.now()

    @property
    def warnings(self) -> tuple[Told, ...]:
        more = (f"and {self._unsaid} more",) if self._unsaid else ()
        return (*self._warnings, *more)

    def warn(self, text: Told) -> None:
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(text)
        else:
            self._unsaid += 1

    def buried(self, entity: str, key: str) -> bool:
        """Return whether this was hard-deleted here, or in the memory that was exported: it does not come back."""
        return (entity, key) in self._buried

    def add_tombstone(self, entity: str, key: str) -> None:
        self._buried.add((entity, key))

    def changed(self, entity: str, key: str, project: str) -> None:
        """Queue a row for sync: when ``queue`` is called, which takes all of them at once."""
        self._changed.append((entity, key, project))

    def queue(self) -> None:
        """Queue what changed until now. What is queued otherwise meanwhile would come before it."""
        if self._changed:
            self.journal.all_changed(self._changed, clock=self.clock)
        self._changed.clear()

    def clean(self, text: str | None) -> str | None:
        """Return a text without its secrets, None for an empty one."""
        text = without_nul(text)
        if not text.strip():
            return None
        cleaned, truncation, redacted = clean_content(text)
        self.redacted += redacted
        if truncation is not None:
            self.warn(sentence(f"{cleaned[:_SHOWN_CHARS]!r}: ", cut_note(truncation)))
        return cleaned

    def project(self, name: str | None) -> str:
        """Return the project a row belongs to, made when it is new."""
        if name not in self._projects:
            self._projects[name] = self._resolved(name)
        return self._projects[name]

    def _resolved(self, name: str | None) -> str:
        try:
            project = self._identities.canonical(normalize_project(name or "unknown"))
        except InvalidProjectError:
            project = self._identities.canonical(nearest_project(name))
            self.warn(f"{(name or '')[:_SHOWN_CHARS]!r} is not a project name; its rows went to {project}")
        if not project_table.exists(self.store, project):
            self._identities.create(project)
        return project

    def parent(self, session_id: str | None, project: str) -> str:
        """Return the session a row belongs to; one that neither side holds is made as a stub."""
        wanted = session_key(session_id)
        of_nobody = not wanted or self.buried("session", wanted)
        if of_nobody:
            wanted = made_session(project)
        if wanted not in self._sessions:
            if session_table.by_id(self.store, wanted) is None:
                started_at = self.now if of_nobody else EPOCH
                self.insert_session(wanted, project, {"directory": RECOVERED_SESSION, "started_at": started_at})
            self._sessions.add(wanted)
        return wanted

    def insert_session(self, session_id: str, project: str, values: dict[str, str | None]) -> None:
        row: dict[str, object] = {"id": session_id, "project": project, "updated_at": self.now, "clock": self.clock}
        row |= {"arrival": self.arrival("session", session_id)}
        self.store.insert("sessions", row | values)
        self.changed("session", session_id, project)
