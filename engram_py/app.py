"""The composition root: opens the store and hands the services to whoever asks, a program or an interface."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from engram_py.config import Settings, following, load_settings
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import replace
from engram_py.errors import EngramError, StoreError
from engram_py.log import logger_of
from engram_py.privacy.retention import oldest_kept, prune_after_first_write
from engram_py.projects.locate import Locator
from engram_py.projects.projects import Projects
from engram_py.sessions.spool_files import drain_after_writes

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors
    from engram_py.context.contexts import Contexts
    from engram_py.context.session_memory import SessionMemory
    from engram_py.database.compaction import Compaction
    from engram_py.database.journal import Journal
    from engram_py.database.store import Store
    from engram_py.distill.distilling import Distilling
    from engram_py.distill.worker import Worker
    from engram_py.documents.documents import Documents
    from engram_py.documents.following import Following
    from engram_py.documents.values import Overview
    from engram_py.interchange.importers import Importers
    from engram_py.interchange.transfer import Transfer
    from engram_py.ledger.citations import Citations
    from engram_py.ledger.costs import Costs
    from engram_py.ledger.ledger import Ledger
    from engram_py.observations.browse import Browsing
    from engram_py.observations.conflicts import Conflicts
    from engram_py.observations.facts import Facts
    from engram_py.observations.observations import Observations
    from engram_py.observations.relations import Relations
    from engram_py.observations.usage import Usage
    from engram_py.observations.values import Detail, Draft, Saved
    from engram_py.privacy.clear import Clearing
    from engram_py.privacy.switches import Switches
    from engram_py.projects.merge import Merging
    from engram_py.projects.projects import Projects
    from engram_py.recall.evaluation import Evaluations
    from engram_py.recall.query.parse import Query
    from engram_py.recall.search import Search
    from engram_py.recall.search_log import SearchLog
    from engram_py.recall.values import DocumentHit, Results
    from engram_py.sessions.prompts import Episodes, Prompts
    from engram_py.sessions.sessions import SessionMode, Sessions
    from engram_py.sessions.spool import Spool
    from engram_py.sessions.transcripts import Transcripts
    from engram_py.sync.autosync.service import Autosync
    from engram_py.sync.git.service import GitSync
    from engram_py.sync.git.values import GitSynced
    from engram_py.sync.replica.replica import Replica
    from engram_py.upkeep.backups import Backups
    from engram_py.upkeep.doctor import Doctor
    from engram_py.upkeep.reindex import Reindexing
    from engram_py.vectors.vectors import Vectors

logger = logger_of(__name__)

_CLOSING_SECONDS = 0.2
_DOCUMENTS_AFTER_SECONDS = 5.0
_CHUNKS = ".engram/chunks"
_ARRIVING_SECONDS = 2.0


class Engram:
    """An open memory and everything one can do with it. A context manager; ``close`` ends it.

    ``data_dir`` is where the database lives, by default the platform's data directory (``ENGRAM_DATA_DIR``).
    ``directory`` decides the project, by default the working directory. ``project`` overrides it.

    Raises (on construction):
        StoreError: the database cannot be opened; it is left as it was.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        directory: Path | str | None = None,
        project: str | None = None,
        settings: Settings | None = None,
        session_mode: SessionMode = "manual",
        agent: str = "",
        hosts: Sequence[str] = (),
    ) -> None:
        if settings is None:
            settings = load_settings(data_dir=Path(data_dir) if data_dir else None)
        elif data_dir is not None:
            settings = replace(settings, data_dir=Path(data_dir))
        self.settings, self.cloud, self.privacy = settings, settings.cloud, settings.privacy
        self._closed = False
        self._borrowed = False
        self.store = Store.open(settings.data_dir)
        self._where = Path(directory) if directory else Path.cwd()
        self._locator = Locator()
        self._override = project or settings.project
        self.journal = Journal(self.store, settings.clock)
        self.projects = Projects(
            self.store, self.journal, self._locator, directory=self._where, override=self._override
        )
        self._session_mode: SessionMode = session_mode
        self._agent, self._hosts = agent, hosts
        self._following: Worker | None = None
        if session_mode == "process":
            drain_after_writes(self.store, lambda: self.spool)
            prune_after_first_write(self.store, lambda: oldest_kept(settings.clock, settings.privacy.turn_days))
            self.compaction.start()
        if settings.embedder and session_mode == "process":
            self.vectors.start()

    def standing_in(
        self,
        directory: Path | None = None,
        *,
        project: str | None = None,
        session_mode: SessionMode = "manual",
        agent: str = "",
    ) -> Engram:
        """The same open memory for another caller: one with its own directory, project and session.

        A server that many share gives each of them one. Closing it ends the sessions it opened by itself and leaves
        the file open.
        """
        other = Engram.__new__(Engram)
        other.settings, other.cloud, other.privacy = self.settings, self.cloud, self.privacy
        other.store, other.journal = self.store, self.journal
        other.usage, other.vectors, other.ledger = self.usage, self.vectors, self.ledger
        other._closed, other._borrowed = False, True
        other._where, other._locator = directory or self._where, self._locator
        other._override = project or self._override
        other.projects = Projects(
            self.store, self.journal, self._locator, directory=other._where, override=other._override
        )
        other._session_mode, other._agent, other._hosts = session_mode, agent, ()
        other._following = None
        return other

    # Each service is imported when it is first asked for: a command or a hook pays for what it uses.

    @cached_property
    def sessions(self) -> Sessions:
        """Start, end and list sessions."""
        from engram_py.sessions.sessions import Sessions

        return Sessions(
            self.store, self.journal, self.projects, mode=self._session_mode, agent=self._agent, hosts=self._hosts
        )

    @cached_property
    def observations(self) -> Observations:
        """Save, read, correct and delete observations."""
        from engram_py.observations.observations import Observations
        from engram_py.recall.related import Candidates

        candidates = Candidates(self.store, self.journal)
        return Observations(
            self.store,
            self.journal,
            self.projects,
            self.sessions,
            candidates,
            anchors=self.anchors,
            search_log=self.trail,
            usage=self.usage,
            switches=self.switches,
        )

    @cached_property
    def facts(self) -> Facts:
        """What is known about entities, a sentence each."""
        from engram_py.observations.facts import Facts

        return Facts(self.store, self.journal, self.projects, lambda: self.observations, rules=self.settings.fact_rules)

    @cached_property
    def anchors(self) -> Anchors:
        """The files observations are about, and whether they changed."""
        from engram_py.anchors.anchors import Anchors

        return Anchors(self.store, self.journal, self.projects)

    @cached_property
    def searches(self) -> Search:
        """Find observations."""
        from engram_py.recall.search import Search

        return Search(
            self.store,
            self.journal,
            self.projects,
            anchors=self.anchors,
            usage=self.usage,
            trail=self.trail,
            vectors=self.vectors,
            documents=self._beside_memories,
        )

    @cached_property
    def documents(self) -> Documents:
        """The user's own texts: commits, decision records, folders."""
        from engram_py.documents.documents import Documents

        return Documents(self.store, self.journal, self.projects)

    def _overview(self, project: str) -> Overview | None:
        return self.documents.overview(project) if self._has_documents else None

    @property
    def _has_documents(self) -> bool:
        return bool(self.store.value("select exists (select 1 from documents)"))

    def follow_documents(self, set_out: Callable[[Path, Path, str], object]) -> None:
        """Keep the documents of this directory indexed from now on, for a process that stays: ``set_out`` has another
        one do it, given the data directory, this one and the project it was told."""
        if self.settings.documents != "on" or self._following is not None:
            return
        from engram_py.distill.worker import Worker

        followed: list[Following] = []

        def look() -> None:  # what it takes is imported by the thread
            from engram_py.documents.following import Following

            if not followed:
                set_out_here = partial(set_out, self.settings.data_dir, self._where, self._override or "")
                followed.append(Following(self.documents, self._may_record, set_out_here))
            followed[0].look()

        self._following = Worker(look, name="engram-documents", first=_DOCUMENTS_AFTER_SECONDS)
        self._following.start()

    def _may_record(self) -> bool:
        return self.switches.allowed(self.projects.for_read(head=False).project).records

    def _beside_memories(
        self, query: Query, projects: tuple[str, ...] | None, known: float, said: Sequence[str]
    ) -> tuple[DocumentHit, ...]:
        if not self._has_documents:
            return ()
        return self.documents.beside(query, projects, known, said)

    @cached_property
    def usage(self) -> Usage:
        """How often observations were shown."""
        from engram_py.observations.usage import Usage

        return Usage(self.store, self.journal)

    def own_session(self) -> tuple[str, str]:
        """The session and the project of a call that names none; empty where several projects are possible."""
        project = self.projects.for_read().project
        return (self.sessions.current_id(project) if project else "", project)

    @cached_property
    def trail(self) -> SearchLog:
        """The last searches, and what is learned from opening what they found."""
        from engram_py.recall.search_log import SearchLog

        # A command ends before its hit is opened by the next one; a server remembers by itself.
        durable = self._agent == "cli"
        return SearchLog(self.store, self.journal, learn=self.settings.learn == "on", durable=durable)

    @cached_property
    def evaluations(self) -> Evaluations:
        """The user's own retrieval tests."""
        from engram_py.recall.evaluation import Evaluations

        return Evaluations(self.store, self.journal, self.projects, self.searches)

    @cached_property
    def vectors(self) -> Vectors:
        """How near observations are to a question, where an embedder is set."""
        from engram_py.vectors.vectors import Vectors

        key = os.environ.get(self.settings.embedder_key_variable, "") if self.settings.embedder_key_variable else ""
        stays = self._session_mode == "process"
        return Vectors(
            self.store,
            self.settings.clock,
            embedder=self.settings.embedder,
            key=key,
            follow=following(self.settings.data_dir, "embedder") if stays else None,
        )

    @cached_property
    def contexts(self) -> Contexts:
        """What a new session should know, and counts."""
        from engram_py.context.contexts import Contexts

        return Contexts(
            self.store,
            self.journal,
            self.projects,
            lambda: self.searches,
            usage=self.usage,
            anchors=self.anchors,
            zone=self.settings.timezone,
            gate=self.settings.gate,
            arrive=self.arrived,
            overview=self._overview,
        )

    @cached_property
    def prompts(self) -> Prompts:
        """What users asked for."""
        from engram_py.sessions.prompts import Prompts

        return Prompts(self.store, self.journal, self.projects, self.sessions, self.switches)

    @cached_property
    def episodes(self) -> Episodes:
        """Session summaries and captured learnings."""
        from engram_py.sessions.prompts import Episodes

        return Episodes(self.store, self.observations, self.sessions, self.projects, self.switches)

    @cached_property
    def transcripts(self) -> Transcripts:
        """Buffer what was said in a session, as its transcript grows."""
        from engram_py.sessions.transcripts import Transcripts

        return Transcripts(self.store, self.journal, self.citations, days=self.privacy.turn_days)

    @cached_property
    def distilling(self) -> Distilling:
        """Summarize the sessions that left no summary, from their turns."""
        from engram_py.distill.distilling import Distilling

        return Distilling(
            self.store, self.journal, lambda: self.episodes, lambda: self.spool, self.switches, self.settings.distill
        )

    @cached_property
    def session_memory(self) -> SessionMemory:
        """What one session knows of itself, and what is known of a file."""
        from engram_py.context.session_memory import SessionMemory

        return SessionMemory(self.store, self.journal, self.projects, self.sessions, self.anchors)

    @cached_property
    def spool(self) -> Spool:
        """Store what hooks could not store in time."""
        from engram_py.sessions.spool import Spool

        return Spool(
            self.store,
            self.journal,
            self.projects,
            self.sessions,
            self.prompts,
            lambda: self.episodes,
            lambda: self.transcripts,
            self.switches,
        )

    @cached_property
    def backups(self) -> Backups:
        """Copies of the whole memory."""
        from engram_py.upkeep.backups import Backups

        return Backups(self.store, self.settings.clock)

    @cached_property
    def doctor(self) -> Doctor:
        """What is wrong with the file, and its repair."""
        from engram_py.upkeep.doctor import Doctor

        return Doctor(self.store, self.journal, self.backups, self.vectors, self.cloud)

    @cached_property
    def adopting(self) -> Importers:
        """Take over what other programs kept."""
        from engram_py.interchange.importers import Importers

        return Importers(self.store, self.journal)

    @cached_property
    def citations(self) -> Citations:
        """What sessions were shown unasked, and what of it they cited."""
        from engram_py.ledger.citations import Citations

        return Citations(self.store, self.journal)

    @cached_property
    def compaction(self) -> Compaction:
        """Keep the index in few pieces."""
        from engram_py.database.compaction import Compaction

        return Compaction(self.store)

    @cached_property
    def relations(self) -> Relations:
        """Verdicts on pairs of observations."""
        from engram_py.observations.relations import Relations

        return Relations(self.store, self.journal, self.projects)

    @cached_property
    def merging(self) -> Merging:
        """Join projects, and give them aliases."""
        from engram_py.projects.merge import Merging

        return Merging(self.store, self.journal)

    @cached_property
    def reindexing(self) -> Reindexing:
        """Rebuild what searches are answered from."""
        from engram_py.upkeep.reindex import Reindexing

        return Reindexing(self.store)

    @cached_property
    def transfer(self) -> Transfer:
        """Export and import."""
        from engram_py.interchange.transfer import Transfer

        return Transfer(self.store, self.journal, self.projects)

    @cached_property
    def browsing(self) -> Browsing:
        """Look through what is kept, row by row."""
        from engram_py.observations.browse import Browsing

        return Browsing(self.store, self.journal, self.projects)

    @cached_property
    def conflicts(self) -> Conflicts:
        """List and count relations, and look for pairs that nobody compared yet."""
        from engram_py.observations.conflicts import Conflicts

        return Conflicts(self.store, self.journal, self.projects)

    @cached_property
    def replica(self) -> Replica:
        """What changed here, and taking over what changed on other machines."""
        from engram_py.sync.replica.replica import Replica

        return Replica(self.store, self.journal, prompts=self.privacy.sync_prompts)

    @cached_property
    def autosync(self) -> Autosync:
        """Keep in step with a server, once somebody logged in to one."""
        from engram_py.sync.autosync.service import Autosync

        return Autosync(self.store, self.journal, lambda: self.replica, self.cloud)

    @cached_property
    def costs(self) -> Costs:
        """What answers cost so far, and what of it was of use."""
        from engram_py.ledger.costs import Costs

        return Costs(self.store, self.journal, self.projects)

    @cached_property
    def ledger(self) -> Ledger:
        """Count what answers and injections cost."""
        from engram_py.ledger.ledger import Ledger

        return Ledger(self.store, self.journal)

    @cached_property
    def clearing(self) -> Clearing:
        """Destroy raw messages, a project, everything."""
        from engram_py.privacy.clear import Clearing

        return Clearing(self.store, self.journal, self.projects)

    @cached_property
    def switches(self) -> Switches:
        """What hooks may do."""
        from engram_py.privacy.switches import Switches

        return Switches(self.store, self.projects, self.privacy)

    def arrive(self, *, until: float) -> GitSynced | None:
        """Read what others committed to this repository's ``.engram`` since, until then (``time.monotonic``); None
        where nothing is new, which costs a look at two folders.

        Raises SyncError, AmbiguousProjectError.
        """
        repository = self.projects.settings_here().repository
        if repository is None or repository.bare or not (repository.root / _CHUNKS).is_dir():
            return None
        return self.git_sync.arrive(until=until)

    def arrived(self) -> bool:
        """The same before a project is said to have no memory, where it need not fail; whether anything came."""
        try:
            done = self.arrive(until=time.monotonic() + _ARRIVING_SECONDS)
        except EngramError as exc:
            logger.info("the .engram folder was not read: %s", exc.message)
            return False
        return done is not None and done.read is not None and done.read.applied.applied > 0

    @cached_property
    def git_sync(self) -> GitSync:
        """Share memory through the folder of chunks in a git repository."""
        from engram_py.sync.git.service import GitSync

        return GitSync(self.store, self.journal, self.projects, self.replica)

    # The verbs a program uses most, without the room they live in.

    def save(self, draft: Draft, *, project: str | None = None, session_id: str | None = None) -> Saved:
        """``observations.save``: keep a draft, or fold it into what already says it."""
        return self.observations.save(draft, project=project, session_id=session_id)

    def get(self, observation_id: int, *, history: bool = False, cursor: int | None = None) -> Detail:
        """``observations.get``: one observation whole."""
        return self.observations.get(observation_id, history=history, cursor=cursor)

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        all_projects: bool = False,
        type: str | None = None,
        scope: str | None = None,
        match_mode: str = "all",
        limit: int | None = None,
        session_id: str | None = None,
        explain: bool = False,
        as_of: str | None = None,
    ) -> Results:
        """``searches.search``: the best matches for words or a question; ``as_of`` a day, those known then."""
        wanted: dict[str, Any] = {"project": project, "all_projects": all_projects, "type": type, "scope": scope}
        wanted |= {"match_mode": match_mode, "limit": limit, "session_id": session_id, "explain": explain}
        if as_of is None:
            return self.searches.search(query, **wanted)
        from engram_py.recall.as_of import search_as_of

        return search_as_of(self.store, self.journal, self.projects, self.anchors, as_of, query, **wanted)

    def close(self) -> None:
        """End the sessions this process opened by itself and close the file. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._borrowed:
            self.ledger.settle()
            if "sessions" in self.__dict__:
                self.sessions.end_own()
            return
        self._stop_threads()
        try:
            self.store.hurry(_CLOSING_SECONDS)
            if "ledger" in self.__dict__:
                self.ledger.close()
            if "sessions" in self.__dict__:
                self.sessions.end_own()
            if "usage" in self.__dict__:
                self.usage.close()
        except StoreError as exc:  # somebody else writes; an open session harms nobody
            logger.info("the session was left open: %s", exc.message)
        finally:
            self.store.close()

    def _stop_threads(self) -> None:
        if "compaction" in self.__dict__:
            self.compaction.stop()
        if "vectors" in self.__dict__:
            self.vectors.close()
        if "distilling" in self.__dict__:
            self.distilling.stop()
        if "autosync" in self.__dict__:
            self.autosync.stop()
        if self._following is not None:
            self._following.stop(seconds=_CLOSING_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
