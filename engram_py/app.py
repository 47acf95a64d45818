"""The composition root: opens the store and builds each service from one ``Core`` when it is first asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from engram_py import services, services_sharing
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import StoreError
from engram_py.base.files import expanded
from engram_py.base.lazy import logger_of
from engram_py.base.settings import Settings, load_settings
from engram_py.memory.privacy.switches import oldest_kept, prune_after_first_write
from engram_py.memory.projects.locate import Locator
from engram_py.memory.projects.projects import Core, Projects
from engram_py.memory.sessions.spool_files import drain_after_writes

if TYPE_CHECKING:
    from engram_py.memory.observations.values import Detail, Draft, Saved
    from engram_py.memory.sessions.sessions import SessionMode
    from engram_py.recall.documents.documents import Following
    from engram_py.recall.documents.values import Opened, OpenedSeveral
    from engram_py.recall.layers import Layered, LayerResults
    from engram_py.recall.values import Results
    from engram_py.sharing.sync.git.table import GitSynced
    from engram_py.upkeep.distill.ingesting import Ingested
    from engram_py.upkeep.maintenance import Worker

    Opens = Detail | Opened | OpenedSeveral

logger = logger_of(__name__)

_CLOSING_SECONDS = 0.2
_SHARED = (".engram/chunks", ".engram/memories", ".engram/.gitattributes")
_DOCUMENTS_AFTER_SECONDS = 5.0
_SLICE_SECONDS = 0.2


@dataclass(frozen=True)
class Caller:
    """The user of an open memory: whether its sessions end with the process, its agent, and the processes above it."""

    mode: SessionMode = "manual"
    agent: str = ""
    hosts: Sequence[str] = ()


class Engram:
    """An open memory and everything one can do with it. A context manager; ``close`` ends it.

    ``data_dir`` is where the database lives, by default the platform's data directory (``ENGRAM_DATA_DIR``).
    ``directory`` decides the project, by default the working directory. ``project`` overrides it. ``shared`` is an open
    memory whose file this one uses.

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
        shared: Engram | None = None,
    ) -> None:
        if settings is None:
            settings = load_settings(data_dir=expanded(data_dir) if data_dir else None)
        elif data_dir is not None:
            settings = replace(settings, data_dir=expanded(data_dir))
        self._closed, self._shared = False, shared is not None
        self._where = expanded(directory) if directory else Path.cwd()
        self._override = project or settings.project
        self.caller = Caller(session_mode, agent, hosts)
        self._following: Worker | None = None
        self.settings = settings
        self.store: Store = Store.open(settings.data_dir) if shared is None else shared.store
        self.journal: Journal = Journal(self.store, settings.clock, settings.zone) if shared is None else shared.journal
        self._locator: Locator = Locator() if shared is None else shared._locator
        if shared is not None:
            self.usage, self.vectors, self.ledger = shared.usage, shared.vectors, shared.ledger
        self.projects = Projects(
            self.store, self.journal, self._locator, directory=self._where, override=self._override
        )
        self.core = Core(self.store, self.journal, self.projects, settings)
        if session_mode == "process" and shared is None:
            self._start_threads()

    def _start_threads(self) -> None:
        clock, days = self.settings.clock, self.settings.turn_days
        drain_after_writes(self.store, lambda: self.spool)
        prune_after_first_write(self.store, lambda: oldest_kept(clock, days))
        self.compaction.start()
        if self.settings.embedder:
            self.vectors.start()

    def for_caller(
        self,
        directory: Path | None = None,
        *,
        project: str | None = None,
        session_mode: SessionMode = "manual",
        agent: str = "",
    ) -> Engram:
        """Return the same open memory for another caller: one with its own directory, project and session.

        A server that many share gives each of them one. Closing it ends the sessions it opened by itself and leaves
        the file open.
        """
        return Engram(
            directory=directory or self._where,
            project=project or self._override,
            settings=self.settings,
            session_mode=session_mode,
            agent=agent,
            shared=self,
        )

    # --- services ----------------------------------------------------------------------------------------

    sessions = cached_property(services.sessions)
    observations = cached_property(services.observations)
    bulk = cached_property(services.bulk)
    changes = cached_property(services.changes)
    browsing = cached_property(services.browsing)
    topics = cached_property(services.topics)
    statistics = cached_property(services.statistics)
    facts = cached_property(services.facts)
    notes = cached_property(services.notes)
    anchors = cached_property(services.anchors)
    usage = cached_property(services.usage)
    relations = cached_property(services.relations)
    conflicts = cached_property(services.conflicts)
    entities = cached_property(services.entities)
    identity = cached_property(services.identity)
    prompts = cached_property(services.prompts)
    episodes = cached_property(services.episodes)
    transcripts = cached_property(services.transcripts)
    spool = cached_property(services.spool)
    checkpoints = cached_property(services.checkpoints)
    searches = cached_property(services.searches)
    layers = cached_property(services.layers)
    evaluations = cached_property(services.evaluations)
    experiments = cached_property(services.experiments)
    vectors = cached_property(services.vectors)
    contexts = cached_property(services.contexts)
    prompt_gate = cached_property(services.prompt_gate)
    session_memory = cached_property(services.session_memory)
    documents = cached_property(services.documents)
    vault = cached_property(services_sharing.vault)
    vault_files = cached_property(services_sharing.vault_files)
    distilling = cached_property(services.distilling)
    ingesting = cached_property(services.ingesting)
    learning = cached_property(services.learning)
    transfer = cached_property(services_sharing.transfer)
    importers = cached_property(services_sharing.importers)
    merging = cached_property(services_sharing.merging)
    replica = cached_property(services_sharing.replica)
    autosync = cached_property(services_sharing.autosync)
    git_sync = cached_property(services_sharing.git_sync)
    reviewing = cached_property(services_sharing.reviewing)
    costs = cached_property(services.costs)
    ledger = cached_property(services.ledger)
    citations = cached_property(services.citations)
    moments = cached_property(services.moments)
    failures = cached_property(services.failures)
    worths = cached_property(services.worths)
    guards = cached_property(services.guards)
    switches = cached_property(services.switches)
    clearing = cached_property(services.clearing)
    trust = cached_property(services_sharing.trust)
    backups = cached_property(services_sharing.backups)
    doctor = cached_property(services.doctor)
    compaction = cached_property(services.compaction)
    reindexing = cached_property(services.reindexing)
    maintenance = cached_property(services.maintenance)
    upkeep_reports = cached_property(services.upkeep_reports)

    # --- the verbs a program uses most, without the room they live in ------------------------------------

    def save(self, draft: Draft, *, project: str | None = None, session_id: str | None = None) -> Saved:
        """Call ``observations.save``: keep a draft, or fold it into what already says it."""
        return self.observations.save(draft, project=project, session_id=session_id)

    def get(self, observation_id: int, *, history: bool = False, cursor: int | None = None) -> Detail:
        """Call ``observations.get``: one observation whole."""
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
        sort: str | None = None,
    ) -> Results:
        """Call ``searches.search``: the best matches for words or a question; ``as_of`` a day, those known then."""
        wanted: dict[str, Any] = {"project": project, "all_projects": all_projects, "type": type, "scope": scope}
        wanted |= {"match_mode": match_mode, "limit": limit, "session_id": session_id, "explain": explain, "sort": sort}
        if as_of is None:
            return self.searches.search(query, **wanted)
        from engram_py.recall.layers import search_as_of

        return search_as_of(self.core, self.anchors, as_of, query, **wanted)

    def open(self, name: int | str, *, history: bool = False, cursor: int | None = None, **lines: Any) -> Opens:
        """Return an observation whole; for a document's name, or a number that is only a docid, the document.

        Raises ObservationNotFoundError, DocumentNotFoundError.
        """
        if isinstance(name, str):
            return self.documents.open(name, **lines)
        from engram_py.memory.observations.errors import ObservationNotFoundError
        from engram_py.recall.documents.values import DocumentNotFoundError

        try:
            return self.observations.get(name, history=history, cursor=cursor)
        except ObservationNotFoundError:
            with suppress(DocumentNotFoundError):  # the first six digits of a hash may be decimal ones
                return self.documents.open(f"#{name:06}", **lines)
            raise

    def search_in(self, layer: str | None, query: str, **wanted: Any) -> LayerResults | Layered:
        """Call ``layers.search``: the same in episodes, turns, prompts or all layers."""
        return self.layers.search(query, layer, **wanted)

    def ingest(self, conversation_id: str, turns: Sequence[object], **more: Any) -> Ingested:
        """Call ``ingesting.ingest``: keep a conversation that took place elsewhere, and summarize it."""
        return self.ingesting.ingest(conversation_id, turns, **more)

    def own_session(self) -> tuple[str, str]:
        """Return the session and the project of a call that names none; empty where several projects are possible."""
        project = self.projects.for_read().project
        return (self.sessions.current_id(project) if project else "", project)

    # --- what several services do together ---------------------------------------------------------------

    def has_shared_folder(self) -> bool:
        """Return whether there is a folder here that others may have written to, or taken the last file from."""
        repository = self.projects.settings_here().repository
        if repository is None or repository.bare:
            return False
        return any((repository.root / path).exists() for path in _SHARED)

    def read_shared(self, *, until: float) -> GitSynced | None:
        """Read what others committed to this repository's ``.engram`` since, until then (``time.monotonic``); None
        where nothing is new, which costs a look at two folders.

        Raises SyncError, AmbiguousProjectError.
        """
        return self.git_sync.read_new(until=until) if self.has_shared_folder() else None

    def read_shared_first(self) -> None:
        """Read what others committed to the repository here, where its project has no memory yet."""
        services.read_shared_first(self)

    def follow_documents(self, set_out: Callable[[Path, Path, str], object]) -> None:
        """Keep the documents of this directory indexed from now on, for a process that stays: ``set_out`` has another
        one do it, given the data directory, this one and the project it was told."""
        if not self.settings.documents or self._following is not None:
            return
        from engram_py.upkeep.maintenance import Worker

        followed: list[Following] = []

        def look() -> None:  # what it takes is imported by the thread
            from engram_py.recall.documents.documents import Following

            if not followed:
                set_out_here = partial(set_out, self.settings.data_dir, self._where, self._override or "")
                followed.append(Following(self.documents, self._may_record, set_out_here))
            followed[0].look()

        self._following = Worker(look, name="engram-documents", first=_DOCUMENTS_AFTER_SECONDS)
        self._following.start()

    def _may_record(self) -> bool:
        return self.switches.allowed(self.projects.for_read(head=False).project).records

    def run_upkeep(self, *, until: float | None = None) -> None:
        """Do what is due, in the background of a process: summaries of sessions, then the passes of upkeep.

        Raises StoreError.
        """
        self.distilling.run(until=until)
        # Beside answers, a slice at each look: what is left stays due.
        self.maintenance.run_due(until=time.monotonic() + _SLICE_SECONDS if until is None else until)

    # --- the end -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """End the sessions this process opened by itself and close the file. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        if self._shared:
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
        for name, stop in (("compaction", "stop"), ("vectors", "close"), ("maintenance", "stop"), ("autosync", "stop")):
            if name in self.__dict__:
                getattr(self.__dict__[name], stop)()
        if self._following is not None:
            self._following.stop(seconds=_CLOSING_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
