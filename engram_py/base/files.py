"""Read what somebody else may have prepared (files bounded, never blocking), and replace files in one step."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import BinaryIO, TypeVar

from engram_py.base.lazy import regex

T = TypeVar("T")
U = TypeVar("U")

# A FIFO in place of a file would otherwise block the first open for ever.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def read_bounded(path: Path | str, limit: int) -> bytes:
    """Return the bytes of the regular file ``path``.

    Raises:
        OSError: it is missing, unreadable, not a regular file, or larger than ``limit`` bytes.
    """
    with open_regular(path) as file:
        return _bounded(file, limit)


def read_secret(path: Path | str, limit: int) -> bytes:
    """Return the bytes of a secret, as ``read_bounded`` does; from then on its owner alone can read it.

    Raises OSError: another account owns the file or could write to it, and may know or have chosen the secret.
    """
    with open_regular(path) as file:
        if os.name == "posix":
            held = os.fstat(file.fileno())
            if held.st_mode & 0o022 or (held.st_uid != os.geteuid() and os.geteuid()):
                raise OSError(errno.EPERM, "other accounts could write it; delete it")
            if held.st_mode & 0o077:
                os.fchmod(file.fileno(), held.st_mode & 0o700)
        return _bounded(file, limit)


def _bounded(file: BinaryIO, limit: int) -> bytes:
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


# What one item of many can raise in its reader, beside OSError and ValueError. A full disk or a lock of the memory is
# no fault of an item.
_UNREADABLE = (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def readable(items: Iterable[T], read: Callable[[T], U], *, aside: Callable[[T, str], object]) -> Iterator[tuple[T, U]]:
    """Yield each item with what ``read`` makes of it.

    One that cannot be read goes ``aside`` with the reason and stops no other: files, lines, commits and rows of others
    come with whatever bytes they like.
    """
    for item in items:
        try:
            found = read(item)
        except OSError as exc:
            aside(item, reason(exc))
        except ValueError as exc:
            aside(item, str(exc))
        except _UNREADABLE as exc:
            aside(item, f"{type(exc).__name__}: {exc}")
        else:
            yield item, found


def changed_ns(status: os.stat_result) -> int:
    """Return when a file was last written in nanoseconds, at most what a column of SQLite holds (the year 2262)."""
    return min(status.st_mtime_ns, 2**63 - 1)


def _put_new(part: Path, path: Path) -> None:
    """Put a file in place unless there is one: of two processes the first wins."""
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            part.replace(path)


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
        if overwrite:
            part.replace(path)
        else:
            _put_new(part, path)
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
    """Return a path in the home directory. Raises InvalidInputError (no_home)."""
    try:
        return Path.home() / relative
    except RuntimeError as exc:
        from engram_py.base.errors import InvalidInputError

        raise InvalidInputError(
            f"there is no home directory to find {relative or 'the files of agents'} in: HOME is not set, "
            "and this account has none",
            hint="set HOME to a folder of your own",
            code="no_home",
        ) from exc


def expanded(path: Path | str) -> Path:
    """``path`` as this system writes it, with the home directory in the place of a leading ``~``, if there is one."""
    path = native(str(path))
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


# Where WSL, Cygwin and MSYS have the drives of Windows.
_DRIVES = ("/mnt", "/cygdrive", "")
_DRIVE = regex("(?a)[A-Za-z]:?")
_DISTRIBUTIONS = ("//wsl.localhost/", "//wsl$/")


def native(path: str, *, windows: bool = os.name == "nt") -> str:
    """Return a path of the other side of WSL as this side writes it, and any other as it is.

    An agent and its hook or server may run on either side: ``C:\\w`` is ``/mnt/c/w`` for the other one. On Windows
    nobody can know which distribution ``/home`` belongs to. Cursor writes ``/c:/w``.
    """
    plain = path.replace("\\", "/")
    if plain[:1] != "/" and plain[1:2] != ":":
        return path
    return _on_windows(plain) or path if windows else _elsewhere(plain) or path


def _on_windows(plain: str) -> str:
    root = next((root for root in _DRIVES if plain.startswith(f"{root}/")), None)
    drive, _, rest = plain[len(root) + 1 :].partition("/") if root is not None else ("", "", "")
    return f"{drive[0]}:/{rest}" if _DRIVE.fullmatch(drive) else ""


def _elsewhere(plain: str) -> str:
    for share in _DISTRIBUTIONS:
        if plain.lower().startswith(share):
            return "/" + plain[len(share) :].partition("/")[2]
    drive, _, rest = plain.removeprefix("/").partition("/")
    if drive[1:] != ":" or not _DRIVE.fullmatch(drive):
        return ""
    mounted = (f"{root}/{drive[0].lower()}" for root in _DRIVES)
    return next((f"{folder}/{rest}" for folder in mounted if is_folder(Path(folder))), "")


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
