"""What Engram itself wrote (tests/interop, see its README), and the three ways to move it here."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engram_py import Engram

FILES = Path(__file__).resolve().parents[2] / "interop"


def database(folder: Path) -> Path:
    """A copy of Engram's database: SQLite writes beside a file that it reads."""
    return Path(shutil.copy(FILES / "engram-july.db", folder / "engrams.db"))


def from_database(app: Engram, folder: Path) -> None:
    app.importers.adopt("engram", database(folder), trusted=True)


def from_export(app: Engram, _: Path) -> None:
    app.transfer.import_file(FILES / "export.json", trusted=True)


def unpack(folder: Path) -> None:
    with tarfile.open(FILES / "sync-folder.tar.gz") as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:  # Python 3.11.2
            archive.extractall(folder)


def from_folder(app: Engram, folder: Path) -> None:
    """The folder as Engram left it in a repository, where ``app`` works."""
    unpack(folder)
    found = app.git_sync.sync(write=False)
    app.trust.source(*{one.source for one in found.unchecked}, projects=[found.project])


WAYS: dict[str, Callable[[Engram, Path], None]] = {
    "database": from_database,
    "export": from_export,
    "folder": from_folder,
}


def kept(app: Engram, columns: str, table: str = "observations", order: str = "id") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in app.store.rows(f"select {columns} from {table} order by {order}")]
