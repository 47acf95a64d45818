"""A database that was migrated once, copied to where a new one is wanted."""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import cache
from pathlib import Path

import pytest

from engram_py.base.database import filesystem
from engram_py.base.database.store import Store

_create = filesystem.create_private_file
copied = False


@cache
def migrated_once() -> bytes:
    """An empty file of the newest schema, as the product makes it. It has no device yet, so every copy gets its own."""
    with tempfile.TemporaryDirectory() as folder:
        Store.open(Path(folder)).close()
        return Path(folder, filesystem.DATABASE_NAME).read_bytes()


def copy_instead_of_migrating(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a new file of this process is a copy, whenever ``copied`` is set."""
    contents = migrated_once()

    def create(path: Path) -> None:
        if copied and path.name == filesystem.DATABASE_NAME and not path.exists():
            with contextlib.suppress(OSError):  # the product says what is wrong with the place
                put(path, contents)
        _create(path)

    monkeypatch.setattr(filesystem, "create_private_file", create)


def ready(data_dir: Path) -> None:
    """The same for another process, which would migrate what it does not find."""
    data_dir.mkdir(mode=0o700, exist_ok=True)
    if not (path := data_dir / filesystem.DATABASE_NAME).exists():
        put(path, migrated_once())


def put(path: Path, contents: bytes) -> None:
    """Make a file whole and at once, unless somebody else was first."""
    handle, name = tempfile.mkstemp(dir=path.parent)  # 0600, as the product makes it
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()
