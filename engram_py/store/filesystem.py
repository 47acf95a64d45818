"""Where the database file may live: the data directory, its permissions, and which file systems are safe."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path

from engram_py.errors import DataDirError, NetworkFilesystemError

DATABASE_NAME = "engram.db"

# SQLite's WAL needs shared memory between its processes, which these do not give: https://sqlite.org/wal.html
NETWORK_TYPES = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "afpfs",
        "webdav",
        "ncpfs",
        "afs",
        "9p",
        "ceph",
        "glusterfs",
        "lustre",
        "ocfs2",
        "gfs2",
        "beegfs",
    ]
) | frozenset({"fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.ceph", "osxfuse"})

_WINDOWS_DRIVE_REMOTE = 4


def prepare_data_dir(data_dir: Path) -> Path:
    """The path of the database in ``data_dir``, which is created (0700) when it is missing.

    Raises:
        DataDirError: it is a file, or cannot be created or entered.
        NetworkFilesystemError: it lies on a file system where WAL is unsafe. Checked before anything is made.
    """
    if not data_dir.is_absolute():
        raise DataDirError(str(data_dir), "the path is relative")
    refuse_network_filesystem(data_dir)
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError:
        raise DataDirError(str(data_dir), "it is a file") from None
    except OSError as exc:
        raise DataDirError(str(data_dir), exc.strerror or str(exc)) from exc
    if not data_dir.is_dir():
        raise DataDirError(str(data_dir), "it is a file")
    return data_dir / DATABASE_NAME


def create_private_file(path: Path) -> None:
    """Make ``path`` exist, readable by its owner alone. SQLite gives -wal and -shm the same mode."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except IsADirectoryError:
        raise DataDirError(str(path), "it is a directory") from None
    except PermissionError as exc:
        if path.exists():  # a read-only database can still be read
            return
        raise DataDirError(str(path.parent), exc.strerror or str(exc)) from exc
    except OSError as exc:
        raise DataDirError(str(path.parent), exc.strerror or str(exc)) from exc
    os.close(handle)
    tighten(path)


def tighten(path: Path) -> None:
    """Take group and other permissions away where the platform has them."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode
        if mode & 0o077:
            path.chmod(mode & 0o700)


def refuse_network_filesystem(path: Path) -> None:
    kind = filesystem_type(path)
    if kind in NETWORK_TYPES:
        raise NetworkFilesystemError(str(path), kind)


def filesystem_type(path: Path) -> str:
    """The type of the file system that holds ``path`` (or will), ``""`` when it cannot be told."""
    existing = path
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        existing = existing.resolve()
        if sys.platform == "win32":
            return _windows_type(existing)
        return type_of_mount(existing, _mounts())
    except OSError:
        return ""


def type_of_mount(path: Path, mounts: list[tuple[str, str]]) -> str:
    """The type of the deepest of ``mounts`` (mount point, type) above ``path``; a later mount hides an earlier."""
    best = ("", "")
    for point, kind in mounts:
        if path.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def parse_proc_mounts(text: str) -> list[tuple[str, str]]:
    """(mount point, type) of each line of Linux' ``/proc/self/mounts``, where blanks are written ``\\040``."""
    fields = (line.split(" ") for line in text.splitlines())
    return [(_unescape(field[1]), field[2]) for field in fields if len(field) > 2]


def parse_bsd_mounts(text: str) -> list[tuple[str, str]]:
    """(mount point, type) of each line macOS' ``mount`` prints: ``//u@h/s on /Volumes/s (smbfs, nodev)``."""
    found = (re.match(r".* on (.+) \(([a-z0-9]+)[,)]", line) for line in text.splitlines())
    return [(match[1], match[2]) for match in found if match]


def _mounts() -> list[tuple[str, str]]:
    if sys.platform == "darwin":
        listing = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=2, check=False)
        return parse_bsd_mounts(listing.stdout)
    return parse_proc_mounts(Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace"))


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _windows_type(path: Path) -> str:
    if sys.platform != "win32":  # pragma: no cover - keeps the type checker to one platform
        return ""
    import ctypes

    anchor = path.anchor
    if anchor.startswith("\\\\"):
        return "smb"
    kind = ctypes.windll.kernel32.GetDriveTypeW(anchor)
    return "smb" if kind == _WINDOWS_DRIVE_REMOTE else ""
