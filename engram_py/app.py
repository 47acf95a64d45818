"""The composition root: opens the store and builds each service from one ``Core`` when it is first asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from engram_py.base.database.filesystem import SOCKETS
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EngramError, StoreError
from engram_py.base.files import expanded
from engram_py.base.lazy import logger_of
from engram_py.base.settings import Settings, following, load_settings
from engram_py.memory.projects.locate import Locator
from engram_py.memory.projects.projects import Core, Projects
from engram_py.memory.sessions.retention import oldest_kept, prune_after_first_write
from engram_py.memory.sessions.spool_files import drain_after_writes

if TYPE_CHECKING:
    from engram_py.base.database.backup import Backups
    from engram_py.base.database.compaction import Compaction
    from engram_py.base.database.store import Store
    from engram_py.base.worker import Periodic
    from engram_py.guidance.context.contexts import Contexts
    from engram_py.guidance.context.prompt_gate import PromptGate
    from engram_py.guidance.context.session import SessionMemory
    from engram_py.guidance.failures.failures import Failures
    from engram_py.guidance.failures.fixes import Fixes
    from engram_py.guidance.guards.guards import Guards
    from engram_py.guidance.ledger.costs import Costs
    from engram_py.guidance.ledger.ledger import Ledger
    from engram_py.guidance.ledger.moments import Moments
    from engram_py.guidance.ledger.worth import Worths
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.identity.identity import Identity
    from engram_py.memory.observations.browse import Browsing
    from engram_py.memory.observations.listing import HandEditLine
    from engram_py.memory.observations.usage import Usage
    from engram_py.memory.observations.values import Detail, Draft, Saved
    from engram_py.memory.privacy.switches import Switches
    from engram_py.memory.relations.relations import Relations
    from engram_py.memory.sessions.checkpoints import Checkpoints
    from engram_py.memory.sessions.citations import Citations
    from engram_py.memory.sessions.sessions import SessionMode, Sessions
    from engram_py.memory.sessions.transcripts import Transcripts
    from engram_py.memory.writing.changes import Changes
    from engram_py.memory.writing.entities import Entities
    from engram_py.memory.writing.facts import Facts, Notes
    from engram_py.memory.writing.merge import Merging
    from engram_py.memory.writing.observations import Observations
    from engram_py.memory.writing.prompts import Episodes, Prompts
    from engram_py.memory.writing.save import Proposals
    from engram_py.memory.writing.spool import Spool
    from engram_py.memory.writing.trust import Trust
    from engram_py.recall.bulk import Bulk
    from engram_py.recall.contradictions import Conflicts, Topics
    from engram_py.recall.documents.documents import Documents, Following
    from engram_py.recall.documents.values import Opened, OpenedSeveral
    from engram_py.recall.layers import Layered, LayerResults, Layers
    from engram_py.recall.query import Query
    from engram_py.recall.search import Search
    from engram_py.recall.values import DocumentHit, Results
    from engram_py.recall.vectors.vectors import NearMeaning, Vectors
    from engram_py.sharing.interchange.importers import Importers
    from engram_py.sharing.interchange.transfer import Transfer
    from engram_py.sharing.sync.autosync.service import Autosync
    from engram_py.sharing.sync.git.memory_review import MemoryReview
    from engram_py.sharing.sync.git.service import GitSync
    from engram_py.sharing.sync.git.table import GitSynced
    from engram_py.sharing.sync.replica.replica import Replica
    from engram_py.sharing.vault.vault import Vault, VaultFiles
    from engram_py.upkeep.clear import Clearing
    from engram_py.upkeep.distill.distilling import Distilling
    from engram_py.upkeep.distill.ingesting import Ingested, Ingesting
    from engram_py.upkeep.distill.summarizing import Learning
    from engram_py.upkeep.distill.values import Flushed
    from engram_py.upkeep.doctor import Doctor
    from engram_py.upkeep.evaluation.evaluation import Evaluations
    from engram_py.upkeep.evaluation.experiment import Experiments
    from engram_py.upkeep.evaluation.tasks import Lesson
    from engram_py.upkeep.maintenance import Maintenance
    from engram_py.upkeep.reindex import Reindexing
    from engram_py.upkeep.statistics import Reports, Statistics

    Opens = Detail | Opened | OpenedSeveral

logger = logger_of(__name__)

_CLOSING_SECONDS = 0.2
_SHARED = (".engram/chunks", ".engram/memories", ".engram/.gitattributes")
_DOCUMENTS_AFTER_SECONDS = 5.0
_SLICE_SECONDS = 0.2
_READING_SECONDS = 2.0


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
        self._following: Periodic | None = None
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

    @cached_property
    def sessions(self) -> Sessions:
        """Start, end and list sessions."""
        from engram_py.memory.sessions.sessions import Sessions

        return Sessions(self.core, mode=self.caller.mode, agent=self.caller.agent, hosts=self.caller.hosts)

    @cached_property
    def observations(self) -> Observations:
        """Save, read, correct and delete observations."""
        from engram_py.memory.writing.observations import Observations
        from engram_py.recall.contradictions import Candidates

        candidates = Candidates(self.store, self.journal)
        return Observations(
            self.core,
            self.sessions,
            candidates,
            anchors=self.anchors,
            usage=self.usage,
            switches=self.switches,
            proposals=_proposals,
            hand_edits=_hand_edits,
        )

    @cached_property
    def bulk(self) -> Bulk:
        """List, change and delete many observations at once."""
        from engram_py.recall.bulk import Bulk

        return Bulk(self.core, self.observations, self.sessions, self.anchors)

    @cached_property
    def changes(self) -> Changes:
        """List what was changed here, and take it back."""
        from engram_py.memory.writing.changes import Changes

        return Changes(self.store, self.journal, self.observations, self.relations, self.merging)

    @cached_property
    def browsing(self) -> Browsing:
        """List whole rows."""
        from engram_py.memory.observations.browse import Browsing

        return Browsing(self.core)

    @cached_property
    def topics(self) -> Topics:
        """Suggest the topic key of an evolving answer."""
        from engram_py.recall.contradictions import Topics

        return Topics(self.store, self.projects)

    @cached_property
    def statistics(self) -> Statistics:
        """Count what is kept."""
        from engram_py.upkeep.statistics import Statistics

        return Statistics(self.store, self.projects)

    @cached_property
    def facts(self) -> Facts:
        """Keep and list what is known about entities, a sentence each."""
        from engram_py.memory.writing.facts import Facts

        def renew(slug: str, project: str, scope: str) -> None:
            self.entities.renew(slug, project, scope)

        return Facts(self.core, lambda: self.observations, renew)

    @cached_property
    def notes(self) -> Notes:
        """Keep a line about the day, and list those of one."""
        from engram_py.memory.writing.facts import Notes

        return Notes(self.core, lambda: self.observations)

    @cached_property
    def anchors(self) -> Anchors:
        """Tell which files observations are about, and whether they changed."""
        from engram_py.memory.anchors.anchors import Anchors

        return Anchors(self.core)

    @cached_property
    def usage(self) -> Usage:
        """Count how often observations are shown."""
        from engram_py.memory.observations.usage import Usage

        return Usage(self.store, self.journal)

    @cached_property
    def relations(self) -> Relations:
        """Keep verdicts on pairs of observations."""
        from engram_py.memory.relations.relations import Relations

        return Relations(self.core)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Find pairs that nobody compared yet."""
        from engram_py.recall.contradictions import Conflicts

        return Conflicts(self.store, self.journal, self.projects, self.vectors)

    @cached_property
    def entities(self) -> Entities:
        """Name things: aliases, edges, summaries, and what mentions them."""
        from engram_py.memory.writing.entities import Entities

        return Entities(self.core, self.observations, self.facts, self.relations)

    @cached_property
    def identity(self) -> Identity:
        """Keep who the person is, and how they want to be worked with."""
        from engram_py.memory.identity.identity import Identity

        return Identity(self.core, self.sessions, lambda: self.observations)

    @cached_property
    def prompts(self) -> Prompts:
        """Keep what users asked for."""
        from engram_py.memory.writing.prompts import Prompts

        return Prompts(self.core, self.sessions, self.switches)

    @cached_property
    def episodes(self) -> Episodes:
        """Save summaries of sessions and captured learnings."""
        from engram_py.memory.writing.prompts import Episodes

        return Episodes(self.core, self.observations, self.sessions, self.switches)

    @cached_property
    def transcripts(self) -> Transcripts:
        """Buffer what was said in a session, as its transcript grows."""
        from engram_py.memory.sessions.transcripts import Transcripts, transcript_roots

        roots = transcript_roots(self.settings.agent_folders)
        days = self.settings.turn_days
        return Transcripts(self.store, self.journal, self.citations, days=days, roots=roots)

    @cached_property
    def spool(self) -> Spool:
        """Store what hooks could not store in time."""
        from engram_py.memory.writing.spool import Spool

        return Spool(
            self.core, self.sessions, self.prompts, lambda: self.episodes, lambda: self.transcripts, self.switches
        )

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """Keep the state of agents, byte for byte."""
        from engram_py.memory.sessions.checkpoints import Checkpoints

        return Checkpoints(self.core, self.sessions)

    @cached_property
    def searches(self) -> Search:
        """Find observations."""
        from engram_py.recall.search import Search

        beside = self._beside_memories
        return Search(self.core, anchors=self.anchors, usage=self.usage, vectors=self.vectors, documents=beside)

    @cached_property
    def layers(self) -> Layers:
        """Find memories, episodes, and what was said word for word."""
        from engram_py.recall.layers import Layers

        return Layers(self.store, lambda: self.searches, self.search, lambda: self.documents.search)

    @cached_property
    def evaluations(self) -> Evaluations:
        """Run the user's own retrieval tests."""
        from engram_py.upkeep.evaluation.evaluation import Evaluations

        return Evaluations(self.core, self.searches)

    @cached_property
    def experiments(self) -> Experiments:
        """Compare an agent with and without the memory."""
        from engram_py.upkeep.evaluation.experiment import Experiments

        return Experiments(self.core, _fill)

    @cached_property
    def vectors(self) -> Vectors:
        """Tell how near observations are to a question in meaning, where an embedder is set."""
        from engram_py.recall.vectors.vectors import Vectors

        settings = self.settings
        follow = following(settings.data_dir, "embedder") if self.caller.mode == "process" else None
        ask = self._ask_by_meaning
        return Vectors(
            self.store, settings.clock, embedder=settings.embedder, key=settings.embedder_key, follow=follow, ask=ask
        )

    @cached_property
    def contexts(self) -> Contexts:
        """Assemble what a session or a prompt is given to read."""
        from engram_py.guidance.context.contexts import Contexts

        return Contexts(
            self.core,
            lambda: self.searches,
            usage=self.usage,
            anchors=self.anchors,
            read_shared=self._read_shared_unasked,
            files=lambda project: self.vault_files.own(project) if project else (),
            overview=lambda project: self.documents.overview(project) if self._has_documents() else None,
        )

    @cached_property
    def prompt_gate(self) -> PromptGate:
        """Decide whether a prompt is given anything unasked."""
        from engram_py.guidance.context.prompt_gate import PromptGate

        return PromptGate(self.core, lambda: self.contexts, self.citations, lambda: self.moments, self._near_meaning)

    @cached_property
    def session_memory(self) -> SessionMemory:
        """Tell what one session knows of itself, and what is known of a file."""
        from engram_py.guidance.context.session import SessionMemory

        return SessionMemory(self.core, self.sessions, self.anchors)

    @cached_property
    def documents(self) -> Documents:
        """Index and search the user's own texts: commits, decision records, folders."""
        from engram_py.recall.documents.documents import Documents

        return Documents(self.core, lambda: self.vectors)

    @cached_property
    def vault(self) -> Vault:
        """Keep the memory as a folder of Markdown."""
        from engram_py.sharing.vault.applying import Applying
        from engram_py.sharing.vault.vault import Vault

        zone = self.settings.zone
        return Vault(
            self.core,
            lambda: Applying(
                self.observations,
                self.facts,
                self.notes,
                self.identity,
                self.entities,
                now=self.core.journal.moment,
                zone=zone,
            ),
            made=self._index_vault,
        )

    @cached_property
    def vault_files(self) -> VaultFiles:
        """Read and write files of the vault."""
        from engram_py.sharing.vault.vault import VaultFiles

        return VaultFiles(self.vault, self.settings.data_dir / "vaults")

    @cached_property
    def distilling(self) -> Distilling:
        """Summarize the sessions that left no summary, from their turns."""
        from engram_py.upkeep.distill.distilling import Distilling

        return Distilling(self.core, lambda: self.episodes, lambda: self.spool, lambda: self.learning, self.switches)

    @cached_property
    def ingesting(self) -> Ingesting:
        """Keep conversations that other programs tell of."""
        from engram_py.upkeep.distill.ingesting import Ingesting

        return Ingesting(self.core, self.sessions, self.switches, lambda: self.distilling)

    @cached_property
    def learning(self) -> Learning:
        """Keep what sessions taught about entities and the person."""
        from engram_py.upkeep.distill.summarizing import Learning

        rooms = (lambda: self.observations, lambda: self.facts, lambda: self.identity, lambda: self.entities)
        return Learning(self.store, self.journal, self.sessions, *rooms)

    @cached_property
    def transfer(self) -> Transfer:
        """Export and import."""
        from engram_py.sharing.interchange.transfer import Transfer

        return Transfer(self.core)

    @cached_property
    def importers(self) -> Importers:
        """Import what other programs kept."""
        from engram_py.sharing.interchange.importers import Importers

        return Importers(self.store, self.journal)

    @cached_property
    def merging(self) -> Merging:
        """Join projects, and give them aliases."""
        from engram_py.memory.writing.merge import Merging

        return Merging(self.store, self.journal)

    @cached_property
    def replica(self) -> Replica:
        """Tell what changed here, and apply what changed on other machines."""
        from engram_py.sharing.sync.replica.replica import Replica

        return Replica(self.store, self.journal, prompts=self.settings.sync_prompts)

    @cached_property
    def autosync(self) -> Autosync:
        """Keep in step with a server, once somebody logged in to one."""
        from engram_py.sharing.sync.autosync.service import Autosync

        return Autosync(self.core, lambda: self.replica)

    @cached_property
    def git_sync(self) -> GitSync:
        """Share memory through the folder of chunks in a git repository."""
        from engram_py.sharing.sync.git.service import GitSync

        return GitSync(self.core, self.replica)

    @cached_property
    def reviewing(self) -> Callable[[str], MemoryReview]:
        """Review what a range of commits does to the readable memories here. Raises NoDiffError."""
        import tempfile

        from engram_py.base.git.repository import find_repository
        from engram_py.recall.contradictions import Candidates
        from engram_py.sharing.sync.git.memory_review import memories_of, review

        def reviewed(span: str) -> MemoryReview:
            location = self.projects.settings_here()
            found = memories_of(find_repository(location.directory), span)
            # A memory of what was reviewed, and of nothing else that this machine may know.
            with tempfile.TemporaryDirectory(prefix="engram-review-") as folder:
                settings = replace(self.settings, data_dir=Path(folder), documents=False)
                with Engram(settings=settings, directory=location.directory) as base:
                    project = base.projects.for_read().project
                    candidates = Candidates(base.store, base.journal)
                    said = review(found, base.store, base.replica, candidates, project)
                    return replace(said, code=base.guards.check((span,)))

        return reviewed

    @cached_property
    def costs(self) -> Costs:
        """Add up what answers cost, and which of them agents used."""
        from engram_py.guidance.ledger.costs import Costs

        return Costs(self.core)

    @cached_property
    def ledger(self) -> Ledger:
        """Count what answers and injections cost."""
        from engram_py.guidance.ledger.ledger import Ledger

        return Ledger(self.store, self.journal)

    @cached_property
    def citations(self) -> Citations:
        """Record what sessions were shown unasked, and what of it they cited."""
        from engram_py.memory.sessions.citations import Citations

        return Citations(self.core)

    @cached_property
    def moments(self) -> Moments:
        """Record what came of a memory that spoke because of what an agent was doing."""
        from engram_py.guidance.ledger.moments import Moments

        return Moments(self.core)

    @cached_property
    def failures(self) -> Failures:
        """Keep the commands that failed and what made them pass, and tell it when an error returns."""
        from engram_py.guidance.failures.failures import Failures

        return Failures(self.core, lambda: self.moments, self._fixes)

    @cached_property
    def worths(self) -> Worths:
        """Add up what came of what was given."""
        from engram_py.guidance.ledger.worth import Worths

        return Worths(self.core)

    @cached_property
    def guards(self) -> Guards:
        """Say what decisions speak against, before it is done and in a diff."""
        from engram_py.guidance.guards.guards import Guards

        return Guards(
            self.core,
            self.moments,
            observations=lambda: self.observations,
            sessions=lambda: self.sessions,
            directory=lambda: self.projects.settings_here().directory,
        )

    @cached_property
    def switches(self) -> Switches:
        """Tell what hooks may do."""
        from engram_py.memory.privacy.switches import Switches

        return Switches(self.core)

    @cached_property
    def clearing(self) -> Clearing:
        """Destroy raw messages, a project, everything."""
        from engram_py.upkeep.clear import Clearing

        return Clearing(self.core)

    @cached_property
    def trust(self) -> Trust:
        """Tell which memories from elsewhere the user answers for."""
        from engram_py.memory.writing.trust import Trust

        return Trust(self.core)

    @cached_property
    def backups(self) -> Backups:
        """Copy the whole memory, and restore it."""
        from engram_py.base.database.backup import Backups

        return Backups(self.store, self.settings.clock)

    @cached_property
    def doctor(self) -> Doctor:
        """Find what is wrong with the file, and repair it."""
        from engram_py.upkeep.doctor import Doctor

        return Doctor(self.core, self.backups, self.vectors)

    @cached_property
    def compaction(self) -> Compaction:
        """Keep the index in few pieces."""
        from engram_py.base.database.compaction import Compaction

        return Compaction(self.store)

    @cached_property
    def reindexing(self) -> Reindexing:
        """Rebuild what searches are answered from."""
        from engram_py.upkeep.reindex import Reindexing

        return Reindexing(self.store)

    @cached_property
    def maintenance(self) -> Maintenance:
        """Run the passes of upkeep."""
        from engram_py.upkeep.maintenance import Maintenance, steps_of

        rooms = (
            lambda: self.entities,
            lambda: self.identity,
            lambda: self.learning,
            lambda: self.vault,
            lambda: self.documents,
        )
        hours, distill = self.settings.consolidate_hours, self._distill
        return Maintenance(self.store, self.journal, partial(steps_of, self.core, *rooms), distill, hours=hours)

    @cached_property
    def upkeep_reports(self) -> Reports:
        """List the runs of upkeep, and what is used most."""
        from engram_py.upkeep.statistics import Reports

        return Reports(self.core)

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
        match_mode: str = "any",
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
        from engram_py.memory.projects.table import count_observations

        project = self.projects.for_read().project
        if project and self.has_shared_folder() and not count_observations(self.store, project):
            self._read_shared_unasked()

    def follow_documents(self, set_out: Callable[[Path, Path, str], object]) -> None:
        """Keep the documents of this directory indexed from now on, for a process that stays: ``set_out`` has another
        one do it, given the data directory, this one and the project it was told."""
        if not self.settings.documents or self._following is not None:
            return
        from engram_py.base.worker import Periodic

        followed: list[Following] = []

        def look() -> None:  # what it takes is imported by the thread
            from engram_py.recall.documents.documents import Following

            if not followed:
                set_out_here = partial(set_out, self.settings.data_dir, self._where, self._override or "")
                followed.append(Following(self.documents, self._may_record, set_out_here))
            followed[0].look()

        self._following = Periodic(look, name="engram-documents", first=_DOCUMENTS_AFTER_SECONDS)
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

    # --- what services take from others when they need it -----------------------------------------------

    def _ask_by_meaning(self, store: Store, ids: Sequence[int]) -> Sequence[tuple[int, int]]:
        from engram_py.base.database.mutation_queue import Journal
        from engram_py.recall.contradictions import ask_by_meaning

        return ask_by_meaning(store, Journal(store, self.settings.clock, self.settings.zone), self.vectors, ids)

    def _near_meaning(self) -> NearMeaning | None:
        """Tell the meaning of a prompt: by this server's model, or that of its holder; None without either."""
        if self.caller.mode == "process" and self.vectors.enabled:
            return self.vectors
        if not (self.settings.data_dir / SOCKETS).exists():  # most have no vectors: nothing is imported
            return None
        from engram_py.recall.vectors.holder import Nearby

        nearby = Nearby(self.settings.data_dir)
        return nearby if nearby.is_there else None

    def _fixes(self) -> Fixes:
        from engram_py.guidance.failures.fixes import Fixes

        return Fixes(self.core, self.anchors, self.usage, lambda: self.observations)

    def _read_shared_unasked(self) -> bool:
        """Read what others committed before a project is said to have no memory; return whether anything came."""
        try:
            done = self.read_shared(until=time.monotonic() + _READING_SECONDS)
        except EngramError as exc:
            logger.info("the .engram folder was not read: %s", exc.message)
            return False
        return done is not None and done.applied > 0

    def _distill(self, everything: bool) -> Flushed:
        return self.distilling.flush() if everything else self.distilling.run()

    def _has_documents(self) -> bool:
        return bool(self.store.value("select exists (select 1 from documents)"))

    def _beside_memories(
        self, query: Query, projects: tuple[str, ...] | None, known: float, said: Sequence[str]
    ) -> tuple[DocumentHit, ...]:
        return self.documents.beside(query, projects, known, said) if self._has_documents() else ()

    def _index_vault(self, root: Path, project: str, old: str) -> None:
        """Make the person's own files in a vault documents, in place of those of the ``old`` one."""
        named = (
            one for one in self.documents.collections(project=project).items if getattr(one, "name", "") == "vault"
        )
        if old not in ("", str(root)) and any(getattr(one, "root", "") == old for one in named):
            self.documents.remove("vault", project=project)
        with suppress(EngramError):  # it is one already
            self.documents.add(str(root), name="vault", project=project)

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


def _proposals() -> Proposals:
    from engram_py.guidance.guards import proposals  # for texts that may hold a rule alone

    return proposals


def _hand_edits(store: Store, *, projects: Sequence[str] | None, limit: int) -> Sequence[HandEditLine]:
    from engram_py.sharing.sync.git.table import hand_edits  # for a review alone

    return hand_edits(store, projects=projects, limit=limit)


def _fill(folder: Path, directory: Path, lessons: Sequence[Lesson]) -> None:
    """Save lessons in a memory of their own, as the project of a directory."""
    from engram_py.memory.observations.values import Draft

    with Engram(folder, directory=directory) as app:
        for one in lessons:
            saved = app.save(Draft(one.title, one.content, one.type))
            if one.guards:
                app.observations.guard(saved.id, one.guards)
            if one.unchecked:
                app.trust.disown(saved.id, one.unchecked)
