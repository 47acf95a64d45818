"""The data directory: its permissions, and which file systems are safe for SQLite."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from engram_py.base.database.errors import DataDirError
from engram_py.base.errors import StoreError
from engram_py.base.files import lines_of

DATABASE_NAME = "engram.db"
# The folder of the sockets of processes that hold a model for all others.
SOCKETS = "nearby"
BACKUPS = "backups"

# SQLite's WAL needs shared memory between its processes, which these do not give: https://sqlite.org/wal.html
# 9p alone is not among them: sandboxes that run agents mount their own root that way; WSL's Windows drives are.
_NETWORK_TYPES = """
nfs nfs4 cifs smb smb2 smb3 smbfs afpfs webdav ncpfs afs ceph glusterfs lustre ocfs2 gfs2 beegfs drvfs osxfuse
fuse.sshfs fuse.glusterfs fuse.rclone fuse.s3fs fuse.davfs fuse.ceph
"""
NETWORK_TYPES = frozenset(_NETWORK_TYPES.split())

_WINDOWS_DRIVE_REMOTE = 4

# Where SQLite's locks are, as (first byte, bytes): on a database that is open, and on the shared memory of its log
# (sqlite.org/fileformat2.html 4.4 and src/os_unix.c: SHARED_FIRST, UNIX_SHM_DMS).
_PENDING_LOCK = (0x40000000, 1)  # whoever opens it has this for a moment
_SHARED_LOCK = (0x40000002, 510)
_LOG_IN_USE = (128, 1)

_OPENING_SECONDS = 5.0

_creating = threading.Lock()


def prepare_data_dir(data_dir: Path) -> Path:
    """Return the path of the database in ``data_dir``, which is created (0700) when it is missing.

    Raises:
        DataDirError: it is a file, or cannot be created or entered.
        StoreError (network_filesystem): it lies on a file system where WAL is unsafe. Checked before anything is made.
    """
    if not data_dir.is_absolute():
        raise DataDirError(str(data_dir), "the path is relative, and would be another folder in each process")
    kind = filesystem_type(data_dir)
    if kind in NETWORK_TYPES:
        raise StoreError(
            f"{data_dir} is on a network file system ({kind}), where SQLite's WAL locks are unsafe",
            hint="set ENGRAM_DATA_DIR to a directory on a local disk",
            code="network_filesystem",
        )
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise DataDirError(str(data_dir), "it is a file") from None
    except OSError as exc:
        raise DataDirError(str(data_dir), exc.strerror or str(exc)) from exc
    return data_dir / DATABASE_NAME


def create_private_file(path: Path) -> None:
    """Make ``path`` exist, readable by its owner alone. SQLite gives -wal and -shm the same mode."""
    try:
        # Closing a descriptor gives up every POSIX lock the process holds on the file, an open connection's
        # too: another process would then think it closes the file last, and delete the log that connection
        # writes to. So a file that exists is not opened here, and nobody connects to a new one meanwhile.
        with _creating:
            if not path.exists():
                os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if path.is_dir():
            raise DataDirError(str(path), "it is a directory")
    except OSError as exc:
        raise DataDirError(str(path.parent), exc.strerror or str(exc)) from exc
    for file in database_files(path):
        tighten(file)


def may_write(path: Path) -> bool:
    """Return whether this process may write the database, and the files that SQLite keeps beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def database_files(path: Path) -> list[Path]:
    """Return the database file, its log and its shared memory, those that exist."""
    beside = (path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm"))
    return [file for file in beside if file.exists()]


def drop_foreign_log(path: Path) -> None:
    """Remove a log that a running process writes for another file, which stood at ``path`` before: SQLite would take
    its pages for pages of this one. Not for a process that has this file open: its locks would be given up.

    Who has a database open holds a lock on it, and one on the shared memory of its log. Where nobody holds the first
    and somebody the second, the log is that of a file that was replaced.
    """
    wal, shm = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    if os.name != "posix" or not (wal.exists() and shm.exists()):
        return
    with contextlib.suppress(OSError), contextlib.ExitStack() as opened:
        main = opened.enter_context(path.open("r+b"))
        if not _locked(main, *_SHARED_LOCK):
            return  # while it is held, nobody opens the file
        memory = opened.enter_context(shm.open("r+b"))
        if not _locked(memory, *_LOG_IN_USE):
            shm.unlink()
            wal.unlink()


@contextlib.contextmanager
def nobody_opens(path: Path) -> Iterator[None]:
    """Keep others from opening the database meanwhile; who has it open goes on. Not where a connection of this process
    is needed afterwards: its locks on the file are given up at the end. Raises OSError."""
    if os.name != "posix":
        yield
        return
    with path.open("r+b") as file:
        until = time.monotonic() + _OPENING_SECONDS
        while not _locked(file, *_PENDING_LOCK):
            if time.monotonic() > until:
                raise TimeoutError(errno.EAGAIN, "others keep opening it", str(path))
            time.sleep(0.001)
        yield


@contextlib.contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Give whether this process is the only one here meanwhile, by a lock on a file of its own."""
    if os.name != "posix":
        yield True
        return
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        yield _locked(file, 0, 1)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _locked(file: BinaryIO, start: int, length: int) -> bool:
    """Return whether this process could take the lock on a part of a file, which it then has until that is closed."""
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
    except OSError as exc:
        if exc.errno not in (errno.EACCES, errno.EAGAIN):
            raise
        return False
    return True


def free_name(path: Path) -> Path:
    """Return ``path``, or with ``-2``, ``-3``, … before its suffix when that exists."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def tighten(path: Path) -> None:
    """Take group and other permissions away where the platform has them."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if mode & 0o077:
            path.chmod(mode & 0o700)


def filesystem_type(path: Path) -> str:
    """Return the type of the file system that holds ``path``, ``""`` when it is unknown."""
    existing = path
    try:
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        existing = existing.resolve()
        if sys.platform == "win32":
            return _windows_type(existing)
        return type_of_mount(existing, _mounts())
    except OSError:
        return ""


def type_of_mount(path: Path, mounts: list[tuple[str, str]]) -> str:
    """Return the type of the deepest mount (mount point, type) above ``path``; a later one hides an earlier."""
    above = {str(path), *map(str, path.parents)}
    best = ("", "")
    for point, kind in mounts:
        if point in above and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def parse_proc_mounts(text: str) -> list[tuple[str, str]]:
    """(mount point, type) of each line of Linux' ``/proc/self/mounts``, where blanks are written ``\\040``.

    A Windows drive in WSL is a 9p mount with an option that says so; its type here is ``drvfs``.
    """
    found = []
    for _, point, kind, *options in (line.split(" ") for line in lines_of(text) if line.count(" ") > 1):
        path = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point) if "\\" in point else point
        found.append((path, "drvfs" if kind == "9p" and "drvfs" in " ".join(options) else kind))
    return found


def parse_bsd_mounts(text: str) -> list[tuple[str, str]]:
    """(mount point, type) of each line macOS' ``mount`` prints: ``//u@h/s on /Volumes/s (smbfs, nodev)``."""
    found = (re.match(r".* on (.+) \(([a-z0-9]+)[,)]", line) for line in lines_of(text))
    return [(match[1], match[2]) for match in found if match]


def _mounts() -> list[tuple[str, str]]:
    if sys.platform == "darwin":
        import subprocess

        try:
            listing = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=2, check=False)
        except subprocess.SubprocessError as exc:
            raise OSError(str(exc)) from exc
        return parse_bsd_mounts(listing.stdout)
    return parse_proc_mounts(Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace"))


def _windows_type(path: Path) -> str:
    if sys.platform != "win32":  # pragma: no cover - keeps the type checker to one platform
        return ""
    import ctypes

    anchor = path.anchor
    if anchor.startswith("\\\\"):
        return "smb"
    kind = ctypes.windll.kernel32.GetDriveTypeW(anchor)
    return "smb" if kind == _WINDOWS_DRIVE_REMOTE else ""
