"""The services that most calls do without, each made when it is first asked for."""

from __future__ import annotations

import logging
import time
from functools import cached_property
from typing import TYPE_CHECKING

from engram_py.errors import EngramError

if TYPE_CHECKING:
    from engram_py.database.compaction import Compaction
    from engram_py.database.journal import Journal
    from engram_py.database.store import Store
    from engram_py.interchange.importers import Adopting
    from engram_py.interchange.transfer import Transfer
    from engram_py.ledger.citations import Citations
    from engram_py.ledger.costs import Costs
    from engram_py.ledger.ledger import Ledger
    from engram_py.observations.browse import Browsing
    from engram_py.observations.conflicts import Conflicts
    from engram_py.observations.relations import Relations
    from engram_py.privacy.clear import Clearing
    from engram_py.privacy.switches import Switches
    from engram_py.privacy.values import PrivacySettings
    from engram_py.projects.merge import Merging
    from engram_py.projects.projects import Projects
    from engram_py.sync.autosync.service import Autosync
    from engram_py.sync.autosync.settings import CloudSettings
    from engram_py.sync.git.service import GitSync
    from engram_py.sync.git.values import GitSynced
    from engram_py.sync.replica.replica import Replica
    from engram_py.upkeep.reindex import Reindexing

logger = logging.getLogger(__name__)

_CHUNKS = ".engram/chunks"
_ARRIVING_SECONDS = 2.0


class Shelf:
    """What of an open memory needs its file, its clock and its projects, and nothing else."""

    store: Store
    journal: Journal
    projects: Projects
    cloud: CloudSettings
    privacy: PrivacySettings

    @cached_property
    def adopting(self) -> Adopting:
        """Take over what other programs kept."""
        from engram_py.interchange.importers import Adopting

        return Adopting(self.store, self.journal)

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
