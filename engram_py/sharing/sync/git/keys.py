"""Find the key of a folder: its own, or that of another checkout of the project or of its remote."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.base.database.store import Store
from engram_py.base.errors import SyncError
from engram_py.memory.projects import table as project_table
from engram_py.sharing.sync.errors import PassphraseMissingError
from engram_py.sharing.sync.git.places import Job, names_of
from engram_py.sharing.sync.sealing import Keys, Parameters, SealingKey, WrongSecretError, derived_key, new_key


class FolderKeys:
    """The keys of encrypted folders on this machine."""

    def __init__(self, store: Store) -> None:
        self._store, self._keys = store, Keys(store.path.parent)

    def kept(self, job: Job) -> SealingKey | None:
        return self._keys.folder(job.target)

    def find(
        self,
        job: Job,
        secret: bytes | None = None,
        *,
        all_projects: bool = False,
        encrypt: bool = False,
    ) -> SealingKey | None:
        """Return the key of the folder, None when it is not encrypted.

        An encrypted folder stays encrypted in every checkout of the project and of its remote: nobody writes plainly
        because encryption.json was removed or replaced.
        """
        kept = self.kept(job)
        said = job.folder.parameters()
        path = str(job.folder.path)
        known = self._keys.of_owners(self._owners(job, all_projects=all_projects)) if kept is None else None
        if known is not None and said in (None, known.parameters):
            return known if secret is None or said is not None else _opened(secret, known.parameters, path)
        if said is None:
            return kept or (new_key(secret) if encrypt and secret is not None else None)
        if kept is not None and kept.parameters == said:
            return kept
        if secret is None and kept is not None:
            raise SyncError(
                f"{path} is now encrypted with key {said.key_id} instead of {kept.parameters.key_id}; "
                "nothing was read or written",
                hint="ask who changed encryption.json; `engram sync --encrypt` takes the new passphrase",
                code="encryption_changed",
            )
        if secret is None:
            raise PassphraseMissingError(path)
        return _opened(secret, said, path)

    def keep(self, job: Job, key: SealingKey) -> None:
        """Keep the key of this folder, of its project and of its remote."""
        owners = self._owners(job)
        kept = self.kept(job)
        is_new = kept is None or kept.parameters != key.parameters
        if is_new or any(self._keys.of_owners([name]) is None for name in owners):
            self._keys.keep_folder(job.target, key, owners=owners)

    def _owners(self, job: Job, *, all_projects: bool = False) -> Sequence[str]:
        """Return the owners of the folder's encryption: the project, by all its names, and the remote."""
        names = project_table.names(self._store) if all_projects else names_of(self._store, job.project)
        remote = job.repository.remote
        return [*(f"project {name}" for name in sorted(names)), *([f"remote {remote}"] if remote else ())]


def _opened(secret: bytes, said: Parameters, path: str) -> SealingKey:
    try:
        return derived_key(secret, said)
    except WrongSecretError as exc:
        raise SyncError(
            f"this passphrase or key file does not open {path}; nothing was read or written",
            hint="ask the person who encrypted it, then run `engram sync --encrypt` or `--encrypt-with KEYFILE`",
            code="wrong_passphrase",
        ) from exc
