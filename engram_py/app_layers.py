"""The services of the layers above the core: facts, entities, documents, summaries, the vault, upkeep."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.dataclass import asdict
from engram_py.errors import EngramError
from engram_py.times import zone_named

if TYPE_CHECKING:
    from engram_py.distill.distilling import Distilling
    from engram_py.distill.ingesting import Ingesting
    from engram_py.distill.summarizing import Learning
    from engram_py.documents.documents import Documents, Following
    from engram_py.documents.values import Overview
    from engram_py.entities.entities import Entities
    from engram_py.identity.identity import Identity
    from engram_py.observations.facts import Facts
    from engram_py.observations.notes import Notes
    from engram_py.recall.query import Query
    from engram_py.recall.values import DocumentHit
    from engram_py.sessions.checkpoints import Checkpoints
    from engram_py.upkeep.maintenance import Maintenance, Reports, Steps
    from engram_py.vault.vault import Vault, VaultFiles

from engram_py.app_memory import MemoryServices

_DOCUMENTS_AFTER_SECONDS = 5.0
_SLICE_SECONDS = 0.2


class LayerServices(MemoryServices):
    """What is made of the rows, and beside them."""

    @cached_property
    def facts(self) -> Facts:
        """What is known about entities, a sentence each."""
        from engram_py.observations.facts import Facts

        return Facts(self.store, self.journal, self.projects, lambda: self.observations, rules=self.settings.fact_rules)

    @cached_property
    def notes(self) -> Notes:
        """A line about the day, and the lines of one."""
        from engram_py.observations.notes import Notes

        zone = zone_named(self.settings.timezone)
        return Notes(self.store, self.journal, self.projects, lambda: self.observations, zone=zone)

    @cached_property
    def identity(self) -> Identity:
        """Who the person is, and how they want to be worked with."""
        from engram_py.identity.identity import Identity

        return Identity(self.store, self.journal, self.projects, self.sessions, lambda: self.observations)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """The state of agents, byte for byte."""
        from engram_py.sessions.checkpoints import Checkpoints

        return Checkpoints(self.store, self.journal, self.projects, self.sessions)

    @cached_property
    def entities(self) -> Entities:
        """What has a name: its aliases, edges, summary, and what mentions it."""
        from engram_py.entities.entities import Entities

        return Entities(self.store, self.journal, self.projects, self.observations, self.facts, self.relations)

    @cached_property
    def vault(self) -> Vault:
        """The memory as a folder of Markdown."""
        from engram_py.vault.applying import Applying
        from engram_py.vault.vault import Vault

        zone = zone_named(self.settings.timezone)
        return Vault(
            self.store,
            self.journal,
            self.projects,
            lambda: Applying(self.observations, self.facts, self.notes, self.identity, self.entities, zone=zone),
            zone=zone,
            made=self._follow_vault,
        )

    def _follow_vault(self, root: Path, project: str) -> None:
        """The person's own files in a vault are documents."""
        with suppress(EngramError):  # it is one already
            self.documents.add(str(root), name="vault", project=project)

    @cached_property
    def vault_files(self) -> VaultFiles:
        """Read and write files of the vault."""
        from engram_py.vault.vault import VaultFiles

        return VaultFiles(self.vault, self.settings.data_dir / "vaults")

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
        if not self.settings.documents or self._following is not None:
            return
        from engram_py.upkeep.maintenance import Worker

        followed: list[Following] = []

        def look() -> None:  # what it takes is imported by the thread
            from engram_py.documents.documents import Following

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
    def distilling(self) -> Distilling:
        """Summarize the sessions that left no summary, from their turns."""
        from engram_py.distill.distilling import Distilling

        return Distilling(
            self.store,
            self.journal,
            lambda: self.episodes,
            lambda: self.spool,
            lambda: self.learning,
            self.switches,
            self.settings,
        )

    @cached_property
    def ingesting(self) -> Ingesting:
        """Take over conversations that other programs tell of."""
        from engram_py.distill.ingesting import Ingesting

        return Ingesting(
            self.store, self.journal, self.projects, self.sessions, self.switches, lambda: self.distilling,
            days=self.settings.turn_retention_days,
        )  # fmt: skip

    @cached_property
    def learning(self) -> Learning:
        """What sessions taught about entities and the person."""
        from engram_py.distill.summarizing import Learning

        return Learning(self.store, self.sessions, lambda: self.facts, lambda: self.identity)

    @cached_property
    def maintenance(self) -> Maintenance:
        """The passes of upkeep."""
        from engram_py.upkeep.maintenance import Maintenance

        hours = self.settings.consolidate_hours
        return Maintenance(self.store, self.journal, self._upkeep_steps, hours=hours)

    def _upkeep_steps(self) -> Steps:
        from engram_py.upkeep.maintenance import Consolidating

        days, floor = self.settings.episode_retention_days, self.settings.salience_floor
        consolidating = Consolidating(self.store, self.journal, self.projects, episode_days=days, floor=floor)

        def counts(done: Any) -> dict[str, float]:
            return {name: value for name, value in asdict(done).items() if name != "done"}

        return {
            "heartbeat": [("entities", lambda until: counts(self.entities.count_mentions(until=until)))],
            "consolidate": consolidating.steps(),
            "synthesize": [
                ("entities", lambda until: counts(self.entities.rewrite_summaries(until=until))),
                ("profile", lambda until: self.identity.rewrite_profile()),
            ],
        }

    def tend(self, *, until: float | None = None) -> None:
        """Do what is due, in the background of a process: summaries of sessions, then the passes of upkeep.

        Raises StoreError.
        """
        self.distilling.run(until=until)
        # Beside answers, a slice at each look: what is left stays due.
        self.maintenance.run_due(until=time.monotonic() + _SLICE_SECONDS if until is None else until)

    @cached_property
    def upkeep_reports(self) -> Reports:
        """The runs of upkeep, and what is used most."""
        from engram_py.upkeep.maintenance import Reports

        return Reports(self.store, self.journal, self.projects)
