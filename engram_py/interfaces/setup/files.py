"""Read and replace files of other programs safely: no links, no partial writes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engram_py.dataclass import dataclass
from engram_py.files import write_atomically
from engram_py.interfaces.setup.errors import SetupRefusedError
from engram_py.interfaces.setup.jsonc import UnreadableTextError

_BOM = "\ufeff"
# Where the read-only mark of a folder, which Python reports as its mode, says nothing about what may be written in it.
WINDOWS = os.name == "nt"
_MOST_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Found:
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


def look(path: Path) -> Found:
    """Return the content of ``path``, if setup may replace it.

    Raises SetupRefusedError: it is a symbolic link, a directory or the like, read-only, or too big.
    """
    try:
        about = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        _check_folder(path)
        return Found(None)
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
        return Found(path.read_bytes(), stat.S_IMODE(about.st_mode))


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


def replace(path: Path, data: bytes, *, found: Found) -> None:
    """Give the file these bytes in one step, and the permissions it had.

    Raises SetupRefusedError: it changed since ``found`` was read, or it cannot be written.
    """
    if look(path).data != found.data:
        raise SetupRefusedError(str(path), "another program changed it just now; run the command again")
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


def remove(path: Path) -> None:
    """Remove a file of ours."""
    with refusing(path):
        path.unlink(missing_ok=True)


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
