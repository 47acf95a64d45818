"""The record of setup on this machine: the files it wrote for whom, and their bytes from before.

``setup/manifest.json`` in the data directory, with the former contents beside it, named by their hash. They are the
backup: written before the file itself is touched, and kept until ``engram unsetup`` has put them back.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engram_py.dataclass import asdict, dataclass, field
from engram_py.files import write_atomically
from engram_py.interfaces.setup.errors import SetupRefusedError
from engram_py.interfaces.setup.files import digest, refusing, remove_empty

_VERSION = 1
_MOST_COPIES = 20
_MODES = "protocol-mode.json"


@dataclass(slots=True)
class Record:
    """One file. ``original`` and ``written`` are hashes, ``original`` None where there was no file.

    ``users`` are the agents it was edited for, as ``codex@user``.
    """

    original: str | None
    written: str
    users: list[str] = field(default_factory=list)


class Manifest:
    """The records and the contents they name. Only for use inside ``opened``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files: dict[str, Record] = {}
        self.folders: list[str] = []
        """What setup had to make above the files; they go when they are empty again."""
        self.plugin: dict[str, Any] | None = None
        self.copies: dict[str, str] = {}
        """The hash of what somebody had edited in our part, before we wrote that again → its file."""
        self._read()

    def keep(self, data: bytes) -> str:
        """Store these bytes and return their hash."""
        name = digest(data)
        path = self.original_path(name)
        if not path.is_file() or digest(path.read_bytes()) != name:
            _write_private(path, data)
        return name

    def keep_copy(self, path: Path, data: bytes) -> None:
        """Keep what somebody edited in our part of a file; the latest of these stay, whatever happens to it."""
        self.copies.pop(digest(data), None)
        self.copies[self.keep(data)] = str(path)
        self.copies = dict(list(self.copies.items())[-_MOST_COPIES:])
        self.save()

    def original(self, record: Record) -> bytes | None:
        """Return the file's content before setup, None without a file.

        Raises SetupRefusedError: the copy is gone or damaged.
        """
        return None if record.original is None else self.kept(record.original)

    def kept(self, name: str) -> bytes:
        path = self.original_path(name)
        with refusing(path):
            data = path.read_bytes()
        if digest(data) != name:
            raise SetupRefusedError(str(path), "it is not what setup kept there")
        return data

    def original_path(self, name: str) -> Path:
        return self._folder / "originals" / name

    def save(self) -> None:
        """Write the records, and delete contents that no record names."""
        whole = {
            "version": _VERSION,
            "files": {path: asdict(record) for path, record in sorted(self.files.items())},
            "folders": self.folders,
            "plugin": self.plugin,
            "copies": self.copies,
        }
        _write_private(self._folder / "manifest.json", json.dumps(whole, indent=2).encode())
        text = json.dumps(whole)
        with contextlib.suppress(OSError):
            for path in self.original_path("").iterdir():
                if path.name not in text:
                    path.unlink()

    def remove_empty_folders(self) -> None:
        """Remove those folders of ours that nobody put anything into."""
        remove_empty([Path(folder) for folder in self.folders])
        self.folders = [folder for folder in self.folders if self.files and Path(folder).is_dir()]

    def _read(self) -> None:
        path = self._folder / "manifest.json"
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            if raw["version"] != _VERSION:
                raise ValueError("it was written by another version")
            self.files = {name: Record(**record) for name, record in raw["files"].items()}
            self.folders, self.plugin = list(raw["folders"]), raw["plugin"]
            self.copies = dict(raw.get("copies", {}))
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
            raise SetupRefusedError(str(path), f"it cannot be read: {exc}") from exc


@contextmanager
def opened(data_dir: Path, *, reading: bool = False) -> Iterator[Manifest]:
    """Open the manifest, for one process at a time; ``reading`` takes no lock and creates nothing.

    Raises SetupRefusedError: another setup runs, or the data directory cannot be written.
    """
    folder = data_dir / "setup"
    if reading:
        yield Manifest(folder)
        return
    with refusing(folder):
        (folder / "originals").mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(lock):
            raise SetupRefusedError(str(folder), "another setup is running")
        yield Manifest(folder)
    finally:
        os.close(lock)


def protocol_mode(data_dir: Path, agent: str) -> str:
    """Return ``slim`` if that was chosen for the agent, else ``full``. The file is Engram's: agent → mode."""
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
        if json.loads((data_dir / _MODES).read_text(encoding="utf-8")).get(agent) == "slim":
            return "slim"
    return "full"


def keep_protocol_mode(data_dir: Path, agent: str, mode: str) -> None:
    """Store the protocol mode of an agent.

    Raises SetupRefusedError: the file is there and cannot be read, or cannot be written.
    """
    path = data_dir / _MODES
    try:
        modes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        modes[agent] = mode
    except (OSError, ValueError, TypeError, RecursionError) as exc:
        raise SetupRefusedError(str(path), f"it cannot be read: {exc}") from exc
    _write_private(path, json.dumps(modes, indent=2).encode())


def _locked(lock: int) -> bool:
    """Return whether the lock could be had; the system gives it back when the process ends, however it ends."""
    try:
        if os.name == "nt":  # pragma: no cover - Windows
            import msvcrt

            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write_private(path: Path, data: bytes) -> None:
    with refusing(path):
        write_atomically(path, data)
