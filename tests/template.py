"""A database that was migrated once, copied to where a new one is wanted."""

from __future__ import annotations

import contextlib
import os
import tempfile
from functools import cached_property
from pathlib import Path

import pytest

from engram_py.store import filesystem
from engram_py.store.database import Store

_create = filesystem.create_private_file


class MigratedOnce:
    @cached_property
    def contents(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            Store.open(Path(folder)).close()
            return Path(folder, filesystem.DATABASE_NAME).read_bytes()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on this process makes its new files of the template."""
        contents = self.contents

        def create(path: Path) -> None:
            if path.name == filesystem.DATABASE_NAME:
                with contextlib.suppress(OSError):  # the product says what is wrong with the place
                    plant(path, contents)
            _create(path)

        monkeypatch.setattr(filesystem, "create_private_file", create)

    def plant(self, data_dir: Path) -> None:
        """For another process: what it would make itself on its first start, where there is nothing yet."""
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        plant(data_dir / filesystem.DATABASE_NAME, self.contents)


def plant(path: Path, contents: bytes) -> None:
    """Make the file at once and whole; one that is there stays as it is."""
    if path.exists():
        return
    handle, name = tempfile.mkstemp(dir=path.parent)  # 0600, as the product makes it
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(contents)
        with contextlib.suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()
