"""Read files that somebody else may have prepared (bounded, never blocking), and replace files in one step."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from io import StringIO
from pathlib import Path
from typing import BinaryIO

# A FIFO in place of a file would otherwise block the first open for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_bounded(path: Path | str, limit: int) -> bytes:
    """Return the bytes of the regular file ``path``.

    Raises:
        OSError: it is missing, unreadable, not a regular file, or larger than ``limit`` bytes.
    """
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes")
    return data


def open_regular(path: Path | str) -> BinaryIO:
    """Return the regular file ``path``, open for reading. Raises OSError: it is missing, unreadable or no file."""
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as exc:  # a NUL in the path
        raise OSError(errno.EINVAL, "not a path") from exc
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def write_atomically(
    path: Path,
    data: bytes,
    *,
    mode: int = 0o600,
    prefix: str = "",
    exact: bool = False,
    overwrite: bool = True,
    durable: bool = True,
) -> None:
    """Put a file with these bytes at ``path`` in one step; they are on the disk before it appears, if ``durable``.

    ``mode`` is subject to the umask unless ``exact``. ``prefix`` begins the name of the partial file. Without
    ``overwrite`` a file that is there stays. Raises OSError.
    """
    part = path.with_name(f"{prefix or f'.{path.name}.'}{os.urandom(6).hex()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(part, flags, mode), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if exact:
            part.chmod(mode)
        if overwrite or not path.exists():
            part.replace(path)
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def lines_of(text: str, *, ends: bool = False) -> list[str]:
    """Return the lines of a text, with their ends where ``ends``; they end at ``\\n``, ``\\r\\n`` and ``\\r`` alone.

    ``str.splitlines`` also cuts at U+2028, U+0085 and form feeds, which stand inside a line of JSON or of code.
    """
    if ends:
        return list(StringIO(text, newline=""))
    return [line.removesuffix("\n") for line in StringIO(text, newline=None)]


def in_home(relative: str) -> Path:
    """Return a path in the home directory. Raises NoHomeError."""
    try:
        return Path.home() / relative
    except RuntimeError as exc:
        from engram_py.errors import NoHomeError

        raise NoHomeError(relative or "the files of agents") from exc


def expanded(path: Path | str) -> Path:
    """``path`` with the home directory in the place of a leading ``~``; as it is where there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def real_path(path: Path) -> Path:
    """``path`` absolute and without symlinks; where a loop or a NUL makes that impossible, absolute only."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path if path.is_absolute() else Path("/") / path


def here() -> Path:
    """Return the working directory; where it was, when somebody removed it meanwhile."""
    try:
        return Path.cwd()
    except OSError:
        return Path(os.environ.get("PWD") or "/")


def exists(path: Path) -> bool:
    """Return whether something stands at ``path``; what cannot be looked at does not count."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def is_folder(path: Path) -> bool:
    """Return whether ``path`` is a directory; what cannot be looked at is none."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def reason(exc: OSError) -> str:
    """Return why it failed, without the path, which the caller words itself."""
    return (exc.strerror or type(exc).__name__).lower()


def readable_path(path: str) -> str:
    """Return a path as text that can be stored: names that are not UTF-8 come from the system with lone surrogates."""
    return path.encode("utf-8", "replace").decode()
