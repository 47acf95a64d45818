"""A store in a temporary folder, a disk that is almost full, and a folder every user may enter."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py.base.database.store import Store


@pytest.fixture
def store(data_dir: Path) -> Iterator[Store]:
    opened = Store.open(data_dir)
    yield opened
    opened.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """The mount point of a file system of 3 MB."""
    point = tmp_path / "disk"
    point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(point)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a file system needs root")
    yield point
    subprocess.run(["umount", str(point)], check=True)


@pytest.fixture
def closable_folder() -> Iterator[Path]:
    """A folder whose insides a test may close."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        yield path
        for inside in path.rglob("*"):
            if inside.is_dir():
                inside.chmod(0o700)
