"""The data directory: who may read it, where it may be, and what is refused before anything is made."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engram_py.base.database import filesystem
from engram_py.base.database.errors import DataDirError
from engram_py.base.database.filesystem import NETWORK_TYPES, parse_bsd_mounts, parse_proc_mounts, type_of_mount
from engram_py.base.database.store import Store
from engram_py.base.errors import StoreError
from engram_py.base.settings import load_settings
from tests.base.database.files import command, filled, make_of_schema, opened, save
from tests.support import raising

PROC_MOUNTS = """\
/dev/vda / ext4 rw,relatime 0 0
tmpfs /home/me tmpfs rw 0 0
server:/export /home/me/net\\040drive nfs4 rw,vers=4.2 0 0
me@host: /mnt/ssh fuse.sshfs rw 0 0
broken
"""
BSD_MOUNTS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//me@nas/share on /Volumes/My (old) share (smbfs, nodev, nosuid, mounted by me)
not a mount line
"""


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def modes(folder: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in [folder, *folder.iterdir()]}


@pytest.mark.migrates
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_the_folder_and_its_files_are_for_their_owner_alone(data_dir: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with opened(data_dir) as app:
            save(app, "private thing")
            private = {"engram.db": 0o600, "engram.db-wal": 0o600, "engram.db-shm": 0o600}
            assert modes(data_dir) == {"data": 0o700} | private
            made = app.backups.create()
    finally:
        os.umask(before)
    assert (mode(Path(made.path)), mode(Path(made.path).parent)) == (0o600, 0o700)


def test_files_that_others_may_read_are_closed_to_them_on_the_next_opening(store: Store, data_dir: Path) -> None:
    for file in data_dir.iterdir():
        file.chmod(0o644)
    Store.open(data_dir).close()
    assert {mode(file) for file in data_dir.iterdir()} == {0o600}
    assert len(list(data_dir.iterdir())) == 3


@pytest.mark.parametrize("named", ["data", "./data", "../data"])
def test_a_relative_data_dir_is_refused(named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataDirError, match="relative"):
        load_settings({"ENGRAM_DATA_DIR": named})
    with pytest.raises(DataDirError, match="relative"):
        Store.open(Path(named))
    assert list(tmp_path.iterdir()) == []


def test_a_data_dir_that_is_a_file_or_below_one_is_refused_and_the_file_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for folder in (file, file / "below"):
        with pytest.raises(DataDirError) as refused:
            Store.open(folder)
        assert (refused.value.code, refused.value.path) == ("data_dir_unusable", str(folder))
        assert "ENGRAM_DATA_DIR" in refused.value.hint
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_database_that_is_a_folder_is_refused(data_dir: Path) -> None:
    (data_dir / "engram.db").mkdir(parents=True)
    with pytest.raises(DataDirError, match="it is a directory"):
        Store.open(data_dir)


@pytest.mark.migrates
def test_a_database_that_is_a_link_to_a_file_not_made_yet_is_made_there_and_private(
    data_dir: Path, tmp_path: Path
) -> None:
    data_dir.mkdir()
    (data_dir / "engram.db").symlink_to(tmp_path / "elsewhere.db")
    Store.open(data_dir).close()
    assert mode(tmp_path / "elsewhere.db") == 0o600


# Modes say nothing to root's capabilities. Another account is no way out: the clone, Python or the packages may stand
# in a home that it cannot enter.
WITHOUT_CAPABILITIES = """
import ctypes
import os
if os.geteuid() == 0:
    linux_capability_version_3, this_process = 0x20080522, 0
    header, none = (ctypes.c_uint32 * 2)(linux_capability_version_3, this_process), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0
"""
needs_modes = pytest.mark.skipif(
    sys.platform == "win32" or (sys.platform != "linux" and os.geteuid() == 0), reason="root writes whatever modes say"
)

WRITES = f"""
{WITHOUT_CAPABILITIES}
from engram_py.base.errors import EngramError
try:
    store = Store.open(folder)
    with store.transaction():
        set_meta(store, "written", "yes")
except EngramError as error:
    print(error.code)
"""


def written(folder: Path) -> str:
    result = subprocess.run(command(WRITES, folder), capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.stdout.strip()


@needs_modes
@pytest.mark.parametrize(
    ("folder_mode", "below"), [(0o555, "."), (0o555, "data"), (0o000, "."), (0o000, "a/b")], ids=str
)
def test_a_folder_that_cannot_be_written_or_entered_is_refused_with_a_code(
    closable_folder: Path, folder_mode: int, below: str
) -> None:
    closed = closable_folder / "closed"
    closed.mkdir()
    closed.chmod(folder_mode)
    assert written(closed / below) == "data_dir_unusable"
    closed.chmod(0o700)
    assert list(closed.iterdir()) == []


@needs_modes
def test_a_memory_one_may_only_read_answers_a_write_with_a_code(closable_folder: Path) -> None:
    folder = closable_folder / "data"
    Store.open(folder).close()
    before = (folder / "engram.db").read_bytes()
    (folder / "engram.db").chmod(0o444)
    folder.chmod(0o555)
    assert written(folder) == "store_read_only"
    assert (folder / "engram.db").read_bytes() == before


def closed_memory(folder: Path) -> None:
    filled(folder, ["one", "two"])


def memory_with_a_log(folder: Path) -> None:
    """As a snapshot of a folder in use has it: nothing is in the file yet but in its log."""
    with opened(folder.with_name("live")) as app:
        for text in ("one", "two"):
            save(app, text)
        shutil.copytree(folder.with_name("live"), folder)
    (folder / "engram.db-shm").unlink()


def memory_of_an_older_program(folder: Path) -> None:
    make_of_schema(folder / "engram.db", 29)
    with closing(sqlite3.connect(folder / "engram.db")) as connection, connection:
        for text in ("one", "two"):
            columns = "sync_id, session_id, project, title, content, content_hash, last_seen_at, created_at, updated_at"
            values = f"'obs-{text}', 's', 'widgets', 'About {text}', 'The content of {text}.', '', '', '', ''"
            connection.execute(f"insert into observations ({columns}, clock) values ({values}, '')")


READS = f"""
{WITHOUT_CAPABILITIES}
from engram_py import Draft, Engram
from engram_py.base.errors import EngramError
with Engram(folder, directory=folder, project="widgets") as app:
    found = app.search("content").results[0]
    print(app.statistics.count().total_observations, app.get(2).observation.title, found.title)
    print("About one" in str(app.contexts.assemble().sections))
    try:
        app.save(Draft("A", "b."))
    except EngramError as error:
        print(error.code, "copy its folder" in error.hint)
"""


@needs_modes
@pytest.mark.parametrize("make", [closed_memory, memory_with_a_log, memory_of_an_older_program])
def test_a_memory_on_a_medium_that_cannot_be_written_is_read(
    closable_folder: Path, make: Callable[[Path], object]
) -> None:
    folder = closable_folder / "data"
    make(folder)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    read = subprocess.run(command(READS, folder), capture_output=True, text=True, check=False)
    assert read.stdout.splitlines() == ["2 About two About two", "True", "store_read_only True"], read.stderr
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


@pytest.mark.parametrize("path", ["/proc/engram", "/sys/engram", "/dev/null/engram", "/" + "n" * 300])
def test_a_place_where_nothing_can_be_made_is_refused_with_a_code(path: str) -> None:
    with pytest.raises(DataDirError) as refused:
        Store.open(Path(path))
    assert refused.value.path == path


def test_the_mounts_of_linux_and_macos_are_read_with_blanks_and_brackets_in_their_names() -> None:
    found = [("/", "ext4"), ("/home/me", "tmpfs"), ("/home/me/net drive", "nfs4"), ("/mnt/ssh", "fuse.sshfs")]
    assert parse_proc_mounts(PROC_MOUNTS) == found
    found = [("/", "apfs"), ("/System/Volumes/Data/home", "autofs"), ("/Volumes/My (old) share", "smbfs")]
    assert parse_bsd_mounts(BSD_MOUNTS) == found


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/home/me/net drive/engram", "nfs4", id="below-a-mount"),
        pytest.param("/home/me/net drive", "nfs4", id="the-mount-itself"),
        pytest.param("/home/me/net drives/engram", "tmpfs", id="a-name-that-only-begins-alike"),
        pytest.param("/srv", "ext4", id="root"),
    ],
)
def test_the_deepest_mount_above_a_path_decides_its_type(path: str, kind: str) -> None:
    mounts = parse_proc_mounts(PROC_MOUNTS)
    assert type_of_mount(Path(path), mounts) == kind
    assert type_of_mount(Path(path), [*mounts, *((point, "later") for point, _ in mounts)]) == "later"


@pytest.mark.parametrize("kind", sorted(NETWORK_TYPES))
def test_a_network_file_system_is_refused_before_anything_is_made(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filesystem, "_mounts", lambda: [("/", "ext4"), (str(tmp_path.resolve()), kind)])
    with raising(StoreError, "network_filesystem", match=rf"\({kind}\)"):
        Store.open(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "failure", [OSError("no /proc"), PermissionError("/proc is closed")], ids=["no-mount-table", "closed"]
)
def test_a_mount_table_that_cannot_be_read_stops_nobody(
    failure: Exception, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable() -> list[tuple[str, str]]:
        raise failure

    monkeypatch.setattr(filesystem, "_mounts", unreadable)
    Store.open(data_dir).close()
    assert (data_dir / "engram.db").exists()


def test_a_windows_drive_in_wsl_is_told_from_the_root_of_a_sandbox() -> None:
    wsl = r"C:\134 /mnt/c 9p rw,noatime,aname=drvfs;path=C:\;uid=1000,trans=fd,rfd=5 0 0"
    sandbox = "none / 9p rw,trans=fd,rfdno=4,aname=/,dfltuid=4294967294 0 0"
    mounts = filesystem.parse_proc_mounts(f"{sandbox}\n{wsl}\n")
    assert filesystem.type_of_mount(Path("/mnt/c/Users/x"), mounts) in filesystem.NETWORK_TYPES
    assert filesystem.type_of_mount(Path("/root/.local/share"), mounts) not in filesystem.NETWORK_TYPES
