"""The services of the memory core: what is kept, shared and looked after. Each is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.settings import Settings, following

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors
    from engram_py.database.compaction import Compaction
    from engram_py.database.journal import Journal
    from engram_py.database.store import Store
    from engram_py.interchange.importers import Importers
    from engram_py.interchange.transfer import Transfer
    from engram_py.ledger.citations import Citations
    from engram_py.ledger.costs import Costs
    from engram_py.ledger.ledger import Ledger
    from engram_py.observations.browse import Browsing
    from engram_py.observations.observations import Observations
    from engram_py.observations.usage import Usage
    from engram_py.privacy.clear import Clearing
    from engram_py.privacy.switches import Switches
    from engram_py.privacy.trust import Trust
    from engram_py.projects.merge import Merging
    from engram_py.projects.projects import Projects
    from engram_py.recall.bulk import Bulk
    from engram_py.recall.conflicts import Conflicts
    from engram_py.recall.related import Topics
    from engram_py.relations.relations import Relations
    from engram_py.sessions.prompts import Episodes, Prompts
    from engram_py.sessions.sessions import SessionMode, Sessions
    from engram_py.sessions.spool import Spool
    from engram_py.sessions.transcripts import Transcripts
    from engram_py.sync.autosync.service import Autosync
    from engram_py.sync.git.service import GitSync
    from engram_py.sync.replica.replica import Replica
    from engram_py.upkeep.backups import Backups
    from engram_py.upkeep.doctor import Doctor
    from engram_py.upkeep.maintenance import Worker
    from engram_py.upkeep.reindex import Reindexing
    from engram_py.upkeep.statistics import Statistics
    from engram_py.vectors.vectors import Vectors


class MemoryServices:
    """What an open memory does with its rows; ``app.Engram`` is one."""

    settings: Settings
    store: Store
    journal: Journal
    projects: Projects
    _where: Path
    _override: str | None
    _session_mode: SessionMode
    _agent: str
    _hosts: Sequence[str]
    _following: Worker | None

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
            usage=self.usage,
            switches=self.switches,
        )

    @cached_property
    def anchors(self) -> Anchors:
        """The files observations are about, and whether they changed."""
        from engram_py.anchors.anchors import Anchors

        return Anchors(self.store, self.journal, self.projects)

    @cached_property
    def usage(self) -> Usage:
        """How often observations were shown."""
        from engram_py.observations.usage import Usage

        return Usage(self.store, self.journal)

    @cached_property
    def vectors(self) -> Vectors:
        """How near observations are to a question, where an embedder is set."""
        from engram_py.vectors.vectors import Vectors

        stays = self._session_mode == "process"
        return Vectors(
            self.store,
            self.settings.clock,
            embedder=self.settings.embedder,
            key=self.settings.embedder_key,
            follow=following(self.settings.data_dir, "embedder") if stays else None,
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
    def relations(self) -> Relations:
        """Verdicts on pairs of observations, and lists of them."""
        from engram_py.relations.relations import Relations

        return Relations(self.store, self.journal, self.projects)

    @cached_property
    def bulk(self) -> Bulk:
        """List observations by filters, and change or delete many at once."""
        from engram_py.recall.bulk import Bulk

        return Bulk(self.store, self.journal, self.projects, self.sessions, self.anchors, self.observations)

    @cached_property
    def conflicts(self) -> Conflicts:
        """Look for pairs that nobody compared yet."""
        from engram_py.recall.conflicts import Conflicts

        return Conflicts(self.store, self.journal, self.projects)

    @cached_property
    def topics(self) -> Topics:
        """Suggest the topic key of an evolving answer."""
        from engram_py.recall.related import Topics

        return Topics(self.store, self.projects)

    @cached_property
    def statistics(self) -> Statistics:
        """Count what is kept."""
        from engram_py.upkeep.statistics import Statistics

        return Statistics(self.store, self.projects)

    @cached_property
    def browsing(self) -> Browsing:
        """Look through what is kept, row by row."""
        from engram_py.observations.browse import Browsing

        return Browsing(self.store, self.journal, self.projects)

    @cached_property
    def transfer(self) -> Transfer:
        """Export and import."""
        from engram_py.interchange.transfer import Transfer

        return Transfer(self.store, self.journal, self.projects)

    @cached_property
    def merging(self) -> Merging:
        """Join projects, and give them aliases."""
        from engram_py.projects.merge import Merging

        return Merging(self.store, self.journal)

    @cached_property
    def replica(self) -> Replica:
        """What changed here, and taking over what changed on other machines."""
        from engram_py.sync.replica.replica import Replica

        return Replica(self.store, self.journal, prompts=self.settings.sync_prompts)

    @cached_property
    def autosync(self) -> Autosync:
        """Keep in step with a server, once somebody logged in to one."""
        from engram_py.sync.autosync.service import Autosync

        return Autosync(self.store, self.journal, lambda: self.replica, self.settings)

    @cached_property
    def git_sync(self) -> GitSync:
        """Share memory through the folder of chunks in a git repository."""
        from engram_py.sync.git.service import GitSync

        return GitSync(self.store, self.journal, self.projects, self.replica)

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
    def citations(self) -> Citations:
        """What sessions were shown unasked, and what of it they cited."""
        from engram_py.ledger.citations import Citations

        return Citations(self.store, self.journal)

    @cached_property
    def switches(self) -> Switches:
        """What hooks may do."""
        from engram_py.privacy.switches import Switches

        return Switches(self.store, self.projects, self.settings)

    @cached_property
    def clearing(self) -> Clearing:
        """Destroy raw messages, a project, everything."""
        from engram_py.privacy.clear import Clearing

        return Clearing(self.store, self.journal, self.projects)

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
    def transcripts(self) -> Transcripts:
        """Buffer what was said in a session, as its transcript grows."""
        from engram_py.sessions.transcripts import Transcripts, transcript_roots

        roots = transcript_roots(self.settings.agent_folders)
        days = self.settings.turn_retention_days
        return Transcripts(self.store, self.journal, self.citations, days=days, roots=roots)

    @cached_property
    def backups(self) -> Backups:
        """Copies of the whole memory."""
        from engram_py.upkeep.backups import Backups

        return Backups(self.store, self.settings.clock)

    @cached_property
    def doctor(self) -> Doctor:
        """What is wrong with the file, and its repair."""
        from engram_py.upkeep.doctor import Doctor

        return Doctor(self.store, self.journal, self.backups, self.vectors, self.settings)

    @cached_property
    def compaction(self) -> Compaction:
        """Keep the index in few pieces."""
        from engram_py.database.compaction import Compaction

        return Compaction(self.store)

    @cached_property
    def reindexing(self) -> Reindexing:
        """Rebuild what searches are answered from."""
        from engram_py.upkeep.reindex import Reindexing

        return Reindexing(self.store)

    @cached_property
    def trust(self) -> Trust:
        """Say which memories from elsewhere the user answers for."""
        from engram_py.privacy.trust import Trust

        return Trust(self.store, self.journal, self.projects)

    @cached_property
    def adopting(self) -> Importers:
        """Take over what other programs kept."""
        from engram_py.interchange.importers import Importers

        return Importers(self.store, self.journal)
