"""Back up the whole memory, and restore it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from engram_py.database import backup, filesystem, health
from engram_py.database.backup import Progress
from engram_py.database.errors import InvalidBackupError, StoreDamagedError, StoreForeignError, StoreIOError
from engram_py.database.store import Store
from engram_py.times import Clock
from engram_py.upkeep.values import Backup, Restored

FOLDER = filesystem.BACKUPS

_TABLES_OF_A_MEMORY = ("observations", "user_prompts", "sessions", "projects")


class Backups:
    """Makes backups of an open memory."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def create(self, target: Path | None = None, *, label: str = "", progress: Progress | None = None) -> Backup:
        """Return a checked copy, by default ``backups/engram-<UTC time>.db`` in the data directory.

        Raises InvalidBackupError when ``target`` exists, StoreDamagedError when the memory is not sound (no copy
        of it is kept), StoreError when the copy cannot be written.
        """
        path = self.copy(target, label=label, progress=progress)
        try:
            observations = backup.check_backup(path, self._store.path.parent)
        except InvalidBackupError as exc:
            path.unlink(missing_ok=True)
            raise StoreDamagedError(str(self._store.path), exc.reason) from exc
        return Backup(str(path), path.stat().st_size, observations)

    def copy(self, target: Path | None = None, *, label: str = "", progress: Progress | None = None) -> Path:
        """Return the path of a copy that is not checked. Raises InvalidBackupError, StoreError as ``create`` does."""
        stem = f"engram-{self._clock():%Y%m%dT%H%M%S%fZ}" + (f"-{label}" if label else "")
        path = target or filesystem.free_name(self._store.path.parent / FOLDER / f"{stem}.db")
        try:
            if path.exists():
                raise InvalidBackupError(str(path), "the file exists already")
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as exc:
            raise StoreIOError(str(path), exc.strerror or str(exc)) from exc
        backup.copy_to(self._store, path, progress)
        return path


def restore(data_dir: Path, source: Path, *, clock: Clock, progress: Progress | None = None) -> Restored:
    """Replace the memory in ``data_dir`` by a backup. What was there is kept, as a backup or set aside.

    Works when the present file is damaged, and while other processes have a sound one open: they wait from before it
    is copied until it is replaced, so that what they were told is saved is in one of the two.

    Raises InvalidBackupError before anything is changed.
    """
    observations = backup.check_backup(source, data_dir)
    path = filesystem.prepare_data_dir(data_dir)
    try:
        kept = _replace(data_dir, source, clock, progress)
    except (StoreDamagedError, StoreForeignError):
        aside = backup.set_aside(path, f"damaged-{clock():%Y%m%dT%H%M%SZ}")
        kept = [aside, *_replace(data_dir, source, clock, progress)]
    return Restored(str(source), str(path), observations, str(kept[0]) if kept else None)


def _replace(data_dir: Path, source: Path, clock: Clock, progress: Progress | None) -> list[Path]:
    """Replace a sound memory; return the path of the copy of its content, nothing where it had none."""
    kept: list[Path] = []

    def keep() -> None:
        with contextlib.closing(Store.open(data_dir)) as present:
            if any(present.value(f"select 1 from {table} limit 1") for table in _TABLES_OF_A_MEMORY):
                kept.append(Backups(present, clock).copy(label="before-restore"))

    with contextlib.closing(Store.open(data_dir)) as store:
        if problems := health.integrity(store):
            raise StoreDamagedError(str(store.path), problems[0])
        backup.copy_from(store, source, progress, locked=keep)
        if health.index_damage(store):
            health.rebuild_indexes(store)
    return kept
