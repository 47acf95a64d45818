"""The files of other programs, and the record of what setup did to them: for whom, and their bytes from before.

``setup/manifest.json`` in the data directory, with the former contents beside it, named by their hash. They are the
backup: written before the file itself is touched, and kept until ``engram unsetup`` has put them back.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engram_py.base.database.filesystem import prepare_data_dir
from engram_py.base.dataclass import asdict, dataclass, field
from engram_py.base.errors import SetupError
from engram_py.base.files import write_atomically
from engram_py.interfaces.setup.formats import UnreadableTextError


class SetupRefusedError(SetupError):
    def __init__(self, path: str, reason: str, *, step: str = "correct it") -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} was left alone: {reason}", hint=f"{step}, then run the command again", facts={"path": path}
        )


class UnusableOptionError(SetupError):
    def __init__(self, option: str, reason: str) -> None:
        self.option, self.reason = option, reason
        super().__init__(f"{option} cannot be used: {reason}", hint=f"leave {option} out")


class PluginFailedError(SetupError):
    def __init__(self, command: str, said: str) -> None:
        self.command, self.said = command, said[:500]
        super().__init__(f"`{command}` failed: {self.said}", hint="correct what it says, then run the command again")


_VERSION = 1
_MOST_COPIES = 20
_MODES = "protocol-mode.json"
_BOM = "\ufeff"
# Where the read-only mark of a folder, which Python reports as its mode, says nothing about what may be written in it.
WINDOWS = os.name == "nt"
_MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileState:
    """The content of a path: bytes, None without a file, and permissions."""

    data: bytes | None
    mode: int | None = None


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Raise SetupRefusedError about ``path`` where the system or a parser refuses it."""
    try:
        yield
    except (OSError, UnreadableTextError) as exc:
        raise SetupRefusedError(str(path), getattr(exc, "strerror", None) or str(exc)) from exc


def look(path: Path) -> FileState:
    """Return the content of ``path``, if setup may replace it.

    Raises SetupRefusedError: it is a symbolic link, a directory or the like, read-only, or too big.
    """
    try:
        about = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        _check_folder(path)
        return FileState(None)
    except OSError as exc:
        raise SetupRefusedError(str(path), exc.strerror or str(exc)) from exc
    if stat.S_ISLNK(about.st_mode):
        raise SetupRefusedError(str(path), f"it is a symbolic link to {_target(path)}; edit that file yourself")
    if not stat.S_ISREG(about.st_mode):
        raise SetupRefusedError(str(path), "it is not a file")
    if not about.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise SetupRefusedError(str(path), "it is read-only")
    if about.st_size > _MOST_BYTES:
        raise SetupRefusedError(str(path), f"it has {about.st_size:,} bytes, which no configuration has")
    with refusing(path):
        return FileState(path.read_bytes(), stat.S_IMODE(about.st_mode))


def decoded(path: Path, data: bytes) -> tuple[str, str]:
    """Return the text of a file and the byte order mark before it, if any.

    Raises SetupRefusedError: it is not UTF-8 text.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise SetupRefusedError(str(path), "it is not UTF-8 text") from exc
    if "\0" in text:
        raise SetupRefusedError(str(path), "it holds NUL bytes, so it is not a text of this kind")
    return (text.removeprefix(_BOM), _BOM) if text.startswith(_BOM) else (text, "")


def replace(path: Path, data: bytes | None, *, found: FileState) -> None:
    """Give the file these bytes in one step, and the permissions it had; None removes it.

    Raises SetupRefusedError: it changed since ``found`` was read, or it cannot be written.
    """
    if look(path).data != found.data:
        raise SetupRefusedError(str(path), "another program changed it just now; run the command again")
    if data is None:
        with refusing(path):
            path.unlink(missing_ok=True)
        return
    # A file that setup made gets what the agent itself would give it: the umask decides.
    mode, exact = (0o666, False) if found.mode is None else (found.mode, True)
    with refusing(path):
        write_atomically(path, data, mode=mode, exact=exact)


def make_folders(path: Path) -> list[Path]:
    """Make the missing folders above ``path`` and return them, outermost first."""
    missing = [folder for folder in path.parents if not folder.exists()][::-1]
    with refusing(path):
        for folder in missing:
            folder.mkdir(exist_ok=True)
    return missing


def remove_empty(folders: list[Path]) -> None:
    """Remove those of the folders that are empty, inner ones first."""
    for folder in sorted(folders, key=lambda one: len(one.parts), reverse=True):
        with contextlib.suppress(OSError):  # not empty: somebody else's by now
            folder.rmdir()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _check_folder(path: Path) -> None:
    existing = next(folder for folder in path.parents if os.path.lexists(folder))
    if not existing.is_dir():
        raise SetupRefusedError(str(path), f"{existing} is not a directory")
    marked = not WINDOWS and not existing.stat().st_mode & stat.S_IWUSR
    if marked or not os.access(existing, os.W_OK | os.X_OK):
        raise SetupRefusedError(str(path), f"{existing} is read-only")


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return "nowhere"


# --- the record -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Record:
    """One file. ``original`` and ``written`` are hashes, ``original`` None where there was no file.

    ``users`` are the agents it was edited for, as ``codex@user``.
    """

    original: str | None
    written: str
    users: list[str] = field(default_factory=list)


class SetupManifest:
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
def opened(data_dir: Path, *, reading: bool = False) -> Iterator[SetupManifest]:
    """Open the manifest, for one process at a time; ``reading`` takes no lock and creates nothing.

    Raises SetupRefusedError or DataDirError: another setup runs, or the data directory cannot be made or written.
    """
    folder = data_dir / "setup"
    if reading:
        yield SetupManifest(folder)
        return
    if not data_dir.is_dir():
        prepare_data_dir(data_dir)
    with refusing(folder):
        for made in (folder, folder / "originals"):
            made.mkdir(mode=0o700, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _locked(lock):
            raise SetupRefusedError(str(folder), "another setup is running")
        yield SetupManifest(folder)
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
