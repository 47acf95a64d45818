"""The composition root: opens the store and hands the services to whoever asks, a program or an interface."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from engram_py.app_layers import LayerServices
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import replace
from engram_py.errors import EngramError, StoreError
from engram_py.files import expanded
from engram_py.lazy import logger_of
from engram_py.privacy.retention import oldest_kept, prune_after_first_write
from engram_py.projects.locate import Locator
from engram_py.projects.projects import Projects
from engram_py.sessions.spool_files import drain_after_writes
from engram_py.settings import Settings, load_settings

if TYPE_CHECKING:
    from engram_py.context.contexts import Contexts
    from engram_py.context.session import SessionMemory
    from engram_py.database.journal import Journal
    from engram_py.database.store import Store
    from engram_py.distill.ingesting import Ingested
    from engram_py.evaluation.evaluation import Evaluations
    from engram_py.observations.values import Detail, Draft, Saved
    from engram_py.projects.projects import Projects
    from engram_py.recall.layers import Layered, LayerResults, Layers
    from engram_py.recall.search import Search
    from engram_py.recall.values import Results
    from engram_py.sessions.sessions import SessionMode
    from engram_py.sync.git.values import GitSynced
    from engram_py.upkeep.maintenance import Worker

logger = logger_of(__name__)

_CLOSING_SECONDS = 0.2
_CHUNKS = ".engram/chunks"
_ARRIVING_SECONDS = 2.0


class Engram(LayerServices):
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
            settings = load_settings(data_dir=expanded(data_dir) if data_dir else None)
        elif data_dir is not None:
            settings = replace(settings, data_dir=expanded(data_dir))
        self.settings = settings
        self._closed = False
        self._borrowed = False
        self.store = Store.open(settings.data_dir)
        self._where = expanded(directory) if directory else Path.cwd()
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
            prune_after_first_write(self.store, lambda: oldest_kept(settings.clock, settings.turn_retention_days))
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
        """Return the same open memory for another caller: one with its own directory, project and session.

        A server that many share gives each of them one. Closing it ends the sessions it opened by itself and leaves
        the file open.
        """
        other = Engram.__new__(Engram)
        other.settings = self.settings
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
    def searches(self) -> Search:
        """Find observations."""
        from engram_py.recall.search import Search

        return Search(
            self.store,
            self.journal,
            self.projects,
            anchors=self.anchors,
            usage=self.usage,
            vectors=self.vectors,
            half_life_days=self.settings.recency_half_life_days,
            documents=self._beside_memories,
        )

    @cached_property
    def layers(self) -> Layers:
        """Find memories, episodes, and what was said word for word."""
        from engram_py.recall.layers import Layers

        return Layers(self.store, lambda: self.searches, self.search, lambda: self.documents.search)

    def own_session(self) -> tuple[str, str]:
        """Return the session and the project of a call that names none; empty where several projects are possible."""
        project = self.projects.for_read().project
        return (self.sessions.current_id(project) if project else "", project)

    @cached_property
    def evaluations(self) -> Evaluations:
        """The user's own retrieval tests."""
        from engram_py.evaluation.evaluation import Evaluations

        return Evaluations(self.store, self.journal, self.projects, self.searches)

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
            tokens={"query": self.settings.memory_budget_tokens, "full": self.settings.full_budget_tokens},
            arrive=self.arrived,
            files=lambda project: self.vault_files.own(project) if project else (),
            overview=self._overview,
        )

    @cached_property
    def session_memory(self) -> SessionMemory:
        """What one session knows of itself, and what is known of a file."""
        from engram_py.context.session import SessionMemory

        return SessionMemory(self.store, self.journal, self.projects, self.sessions, self.anchors)

    def arrive(self, *, until: float) -> GitSynced | None:
        """Read what others committed to this repository's ``.engram`` since, until then (``time.monotonic``); None
        where nothing is new, which costs a look at two folders.

        Raises SyncError, AmbiguousProjectError.
        """
        return self.git_sync.arrive(until=until) if self.has_folder() else None

    def has_folder(self) -> bool:
        """Return whether there is a folder here that others may have written to."""
        repository = self.projects.settings_here().repository
        return repository is not None and not repository.bare and (repository.root / _CHUNKS).is_dir()

    def arrived(self) -> bool:
        """The same before a project is said to have no memory, where it need not fail; whether anything came."""
        try:
            done = self.arrive(until=time.monotonic() + _ARRIVING_SECONDS)
        except EngramError as exc:
            logger.info("the .engram folder was not read: %s", exc.message)
            return False
        return done is not None and done.read is not None and done.read.applied.applied > 0

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
        sort: str | None = None,
    ) -> Results:
        """``searches.search``: the best matches for words or a question; ``as_of`` a day, those known then."""
        wanted: dict[str, Any] = {"project": project, "all_projects": all_projects, "type": type, "scope": scope}
        wanted |= {"match_mode": match_mode, "limit": limit, "session_id": session_id, "explain": explain, "sort": sort}
        if as_of is None:
            return self.searches.search(query, **wanted)
        from engram_py.recall.as_of import search_as_of

        wanted["half_life_days"] = self.settings.recency_half_life_days
        return search_as_of(self.store, self.journal, self.projects, self.anchors, as_of, query, **wanted)

    def ingest(self, conversation_id: str, turns: Sequence[object], **more: Any) -> Ingested:
        """``ingesting.ingest``: keep a conversation that took place elsewhere, and summarize it."""
        return self.ingesting.ingest(conversation_id, turns, **more)

    def search_in(self, layer: str | None, query: str, **wanted: Any) -> LayerResults | Layered:
        """``layers.search``: the same in episodes, turns, prompts or all layers."""
        return self.layers.search(query, layer, **wanted)

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
        if "maintenance" in self.__dict__:
            self.maintenance.stop()
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
