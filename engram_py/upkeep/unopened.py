"""What the doctor says of a database that cannot be opened, or breaks while it is looked at."""

from __future__ import annotations

from pathlib import Path

from engram_py.database import backup, filesystem
from engram_py.errors import InvalidBackupError, StoreDamagedError, StoreError, StoreForeignError, StoreTooNewError
from engram_py.upkeep.backups import FOLDER
from engram_py.upkeep.values import Check, Report


def report_unopened(data_dir: Path, error: StoreError) -> Report:
    """A report with the one finding there can be, and the next step: for a damaged file the newest sound backup."""
    match error:
        case StoreDamagedError():
            check_id, step = "integrity", _way_back(data_dir / FOLDER)
        case StoreTooNewError() | StoreForeignError():
            check_id, step = "schema", error.hint
        case _:
            check_id, step = error.code, error.hint
    check = Check(check_id, "error", error.message, error.details(), step)
    return Report("error", str(data_dir / filesystem.DATABASE_NAME), (check,))


def _way_back(folder: Path) -> str:
    for path in sorted(folder.glob("*.db"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            observations = backup.check_backup(path)
        except InvalidBackupError:
            continue
        return f"run `engram restore {path}` ({observations} observations, sound); the damaged file is kept"
    return f"there is no sound backup in {folder}; `engram restore FILE` takes one from elsewhere"
