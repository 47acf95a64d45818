"""Build the services that carry a memory in and out: its folder of Markdown, exports and imports, sync, backups."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.database.backup import Backups
    from engram_py.memory.privacy.trust import Trust
    from engram_py.memory.projects.merge import Merging
    from engram_py.sharing.interchange.importers import Importers
    from engram_py.sharing.interchange.transfer import Transfer
    from engram_py.sharing.sync.autosync.service import Autosync
    from engram_py.sharing.sync.git.memory_review import MemoryReview
    from engram_py.sharing.sync.git.service import GitSync
    from engram_py.sharing.sync.replica.replica import Replica
    from engram_py.sharing.vault.vault import Vault, VaultFiles


def vault(app: Engram) -> Vault:
    """Keep the memory as a folder of Markdown."""
    from engram_py.sharing.vault.applying import Applying
    from engram_py.sharing.vault.vault import Vault

    zone = app.settings.zone
    return Vault(
        app.core,
        lambda: Applying(
            app.observations, app.facts, app.notes, app.identity, app.entities, now=app.core.journal.moment, zone=zone
        ),
        made=partial(_index_vault, app),
    )


def vault_files(app: Engram) -> VaultFiles:
    """Read and write files of the vault."""
    from engram_py.sharing.vault.vault import VaultFiles

    return VaultFiles(app.vault, app.settings.data_dir / "vaults")


def transfer(app: Engram) -> Transfer:
    """Export and import."""
    from engram_py.sharing.interchange.transfer import Transfer

    return Transfer(app.core)


def importers(app: Engram) -> Importers:
    """Import what other programs kept."""
    from engram_py.sharing.interchange.importers import Importers

    return Importers(app.store, app.journal)


def merging(app: Engram) -> Merging:
    """Join projects, and give them aliases."""
    from engram_py.memory.projects.merge import Merging

    return Merging(app.store, app.journal)


def replica(app: Engram) -> Replica:
    """Tell what changed here, and apply what changed on other machines."""
    from engram_py.sharing.sync.replica.replica import Replica

    return Replica(app.store, app.journal, prompts=app.settings.sync_prompts)


def autosync(app: Engram) -> Autosync:
    """Keep in step with a server, once somebody logged in to one."""
    from engram_py.sharing.sync.autosync.service import Autosync

    return Autosync(app.core, lambda: app.replica)


def git_sync(app: Engram) -> GitSync:
    """Share memory through the folder of chunks in a git repository."""
    from engram_py.sharing.sync.git.service import GitSync

    return GitSync(app.core, app.replica)


def reviewing(app: Engram) -> Callable[[str], MemoryReview]:
    """Review what a range of commits does to the readable memories here. Raises NoDiffError."""
    import tempfile

    from engram_py.base.git.repository import find_repository
    from engram_py.recall.contradictions import Candidates
    from engram_py.sharing.sync.git.memory_review import memories_of, review

    def reviewed(span: str) -> MemoryReview:
        location = app.projects.settings_here()
        found = memories_of(find_repository(location.directory), span)
        # A memory of what was reviewed, and of nothing else that this machine may know.
        with tempfile.TemporaryDirectory(prefix="engram-review-") as folder:
            settings = replace(app.settings, data_dir=Path(folder), documents=False)
            with type(app)(settings=settings, directory=location.directory) as base:
                project = base.projects.for_read().project
                candidates = Candidates(base.store, base.journal)
                said = review(found, base.store, base.replica, candidates, project)
                return replace(said, code=base.guards.check((span,)))

    return reviewed


def trust(app: Engram) -> Trust:
    """Tell which memories from elsewhere the user answers for."""
    from engram_py.memory.privacy.trust import Trust

    return Trust(app.core)


def backups(app: Engram) -> Backups:
    """Copy the whole memory, and restore it."""
    from engram_py.base.database.backup import Backups

    return Backups(app.store, app.settings.clock)


def _index_vault(app: Engram, root: Path, project: str, old: str) -> None:
    """Make the person's own files in a vault documents, in place of those of the ``old`` one."""
    named = (one for one in app.documents.collections(project=project).items if getattr(one, "name", "") == "vault")
    if old not in ("", str(root)) and any(getattr(one, "root", "") == old for one in named):
        app.documents.remove("vault", project=project)
    with suppress(EngramError):  # it is one already
        app.documents.add(str(root), name="vault", project=project)
