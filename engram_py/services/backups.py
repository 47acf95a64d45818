"""Backups of the whole memory, and the way back."""

from __future__ import annotations

from pathlib import Path

from engram_py.errors import InvalidBackupError, StoreDamagedError, StoreForeignError
from engram_py.models.health import Backup, Restored
from engram_py.models.times import Clock
from engram_py.store import backup, filesystem
from engram_py.store.backup import Progress
from engram_py.store.database import Store

FOLDER = "backups"


class Backups:
    """Makes backups of an open memory."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, target: Path | None = None, *, label: str = "", progress: Progress | None = None) -> Backup:
        """A checked copy, by default ``backups/engram-<UTC time>.db`` in the data directory.

        Raises InvalidBackupError when ``target`` exists or the copy is not sound, StoreError when it cannot be written.
        """
        path = target or self._free_name(label)
        if path.exists():
            raise InvalidBackupError(str(path), "the file exists already")
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        backup.copy_to(self._store, path, progress)
        observations = backup.check_backup(path)
        return Backup(str(path), path.stat().st_size, observations)

    def list(self) -> tuple[Path, ...]:
        return tuple(sorted((self._store.path.parent / FOLDER).glob("*.db")))

    def _free_name(self, label: str) -> Path:
        stem = f"engram-{self._clock():%Y%m%dT%H%M%S%fZ}" + (f"-{label}" if label else "")
        return self._store.path.parent / FOLDER / f"{stem}.db"


def restore(data_dir: Path, source: Path, *, clock: Clock, progress: Progress | None = None) -> Restored:
    """Put a backup in the place of the memory in ``data_dir``. What was there is kept, as a backup or set aside.

    Works when the present file is damaged, and while other processes have a sound one open.

    Raises InvalidBackupError before anything is changed.
    """
    observations = backup.check_backup(source)
    path = filesystem.prepare_data_dir(data_dir)
    kept: Path | None = None
    try:
        store = Store.open(data_dir)
    except (StoreDamagedError, StoreForeignError):
        kept = backup.set_aside(path, f"damaged-{clock():%Y%m%dT%H%M%SZ}")
        store = Store.open(data_dir)
    try:
        if kept is None and store.value("select count(*) from observations"):
            kept = Path(Backups(store, clock).create(label="before-restore").path)
        backup.copy_from(store, source, progress)
    finally:
        store.close()
    return Restored(str(source), str(path), observations, str(kept) if kept else None)
