"""An encrypted folder: readable with the secret alone, and never quietly plain again."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.errors import SyncError
from engram_py.sharing.sync import sealing
from engram_py.sharing.sync.errors import (
    PassphraseMissingError,
    SyncFolderError,
)
from engram_py.sharing.sync.git.folder import ChunkFolder
from engram_py.sharing.sync.sealing import secret_of_file
from tests.sharing.sync.git.conftest import Joining, Member, put_chunk, run_git
from tests.support import raising, words

SRC = Path(__file__).resolve().parents[4]
SECRET = sealing.secret_of("correct horse battery")


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """scrypt at next to no cost; test_chunk derives keys at the cost that they have."""
    derive = sealing._derive
    assert sealing._N == 2**17
    monkeypatch.setattr(sealing, "_derive", cache(lambda secret, salt, n: derive(secret, salt, n >> 12)))


@pytest.fixture
def sealed(ada: Member) -> Member:
    """Ada, whose folder is encrypted and has two chunks."""
    ada.save("The harbour is shallow")
    ada.shared(secret=SECRET, encrypt=True)
    ada.shared("The second secret")
    return ada


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_who_knows_the_secret_reads_it_on_another_machine_and_is_not_asked_again(sealed: Member, bob: Member) -> None:
    done = bob.pulled(secret=SECRET, encrypt=True)

    assert done.encrypted
    assert bob.titles() == sealed.titles()
    assert done.written is not None
    assert done.written.chunks == ()
    bob.shared("From Bob")
    sealed.pulled()
    assert sealed.digest() == bob.digest()


def test_nothing_in_the_folder_tells_what_is_kept_or_by_whom_or_the_key(sealed: Member) -> None:
    told = everything(sealed.root / ".engram")

    for word in (b"harbour", b"Ada", b"widgets", b"sync_id"):
        assert word not in told
    assert all(name.endswith(".enc") for name in sealed.names())
    for entry in sealed.manifest()["chunks"]:
        assert {**entry, "id": ""} == {
            "id": "", "created_by": "", "created_at": "", "sessions": 0, "memories": 0, "prompts": 0,
        }  # fmt: skip
    kept = list((sealed.root.parent / "data" / "sync").iterdir())
    assert {path.suffix for path in kept} == {".key", ".json"}
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        secret = path.read_text().strip() if path.suffix == ".key" else json.loads(path.read_text())["key"]
        assert secret.encode() not in everything(sealed.root)


def test_a_wrong_secret_is_said_once_and_nothing_is_written(sealed: Member, bob: Member) -> None:
    bob.git("pull", "-q")
    bob.save("Bob's own")
    before = everything(bob.root / ".engram")

    with raising(SyncError, "wrong_passphrase"):
        bob.sync.sync(secret=sealing.secret_of("wrong"))
    with pytest.raises(PassphraseMissingError):
        bob.sync.sync()

    assert everything(bob.root / ".engram") == before
    assert bob.titles() == ["Bob's own"]


def test_a_folder_that_was_encrypted_does_not_become_plain_when_it_no_longer_says_so(sealed: Member) -> None:
    said = sealed.root / ".engram" / "encryption.json"
    before = said.read_bytes()
    said.unlink()
    sealed.save("Third")

    sealed.exported()

    assert all(name.endswith(".enc") for name in sealed.names())
    assert said.read_bytes() == before


def test_no_checkout_of_an_encrypted_project_writes_it_plainly(sealed: Member, tmp_path: Path) -> None:
    second = tmp_path / "second"
    run_git(tmp_path, "clone", "-q", str(sealed.root), str(second))
    for path in [*(second / ".engram").rglob("*.enc"), second / ".engram" / "encryption.json"]:
        path.unlink()
    project = sealed.sync.status().project
    with Engram(settings=sealed.app.settings, directory=second) as app:
        with raising(SyncError, "plain_export_refused"):
            app.git_sync.sync(project=project)
        assert not list((second / ".engram").rglob("*.gz"))
        app.git_sync.sync(project=project, secret=SECRET, encrypt=True)

    assert list((second / ".engram").rglob("*.enc"))
    assert not list((second / ".engram").rglob("*.gz"))


def test_another_key_in_the_folders_description_stops_everything(sealed: Member) -> None:
    said = sealed.root / ".engram" / "encryption.json"
    said.write_text(json.dumps(sealing.new_key(b"evil").parameters.to_json()))
    sealed.save("Third")

    with raising(SyncError, "encryption_changed"):
        sealed.sync.sync()
    assert len(sealed.names()) == 2

    for damage in ("{}", "x", '{"format": 1}', "[" * 3000):
        said.write_text(damage)
        with pytest.raises(SyncFolderError, match="cannot be read"):
            sealed.sync.sync()


def test_a_plain_chunk_in_an_encrypted_folder_is_refused_unless_it_is_allowed(sealed: Member) -> None:
    row = {
        "sync_id": "obs-plain", "session_id": "s", "type": "note", "title": "Plain", "content": "Plain.",
        "scope": "project", "updated_at": "2026-01-01 10:00:00",
    }  # fmt: skip
    name = put_chunk(sealed.root, {"observations": [row]})

    [refused] = sealed.imported().refused
    assert (refused.chunk, "--allow-plain" in refused.reason) == (name, True)
    assert "Plain" not in sealed.titles()

    assert sealed.imported(allow_plain=True).chunks == 1
    assert "Plain" in sealed.titles()


def test_turning_it_on_writes_everything_again_and_names_plain_chunks(ada: Member, bob: Member, join: Joining) -> None:
    ada.shared("One")
    bob.pulled()
    bob.shared("Two")
    ada.pulled()

    done = ada.shared(secret=SECRET, encrypt=True)

    assert words(*done.warnings).startswith("2 chunks are not encrypted")
    assert done.written is not None
    assert (done.written.again, done.written.sealed, done.written.lost) == (True, True, 0)
    eve = join("eve")
    assert len(eve.imported(secret=SECRET).refused) == 2
    assert eve.titles() == ["One", "Two"]
    assert eve.digest() == ada.digest()
    subprocess.run(words(*done.warnings).partition("synced: ")[2], cwd=ada.chunks, shell=True, check=True)
    assert list(ada.chunks.glob("*.gz")) == []
    assert len(list(ada.chunks.glob("*.sig"))) == len(ada.names())
    again = ada.shared()
    assert again.warnings == ()
    assert again.written is not None
    assert again.written.chunks == ()
    assert all(name.endswith(".enc") for name in ada.names())


def test_turning_it_on_with_a_key_file_is_finished_by_the_next_sync(
    ada: Member, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = secret_of_file(b"\x00\x01" * 100)
    ada.shared("One")
    ada.shared("Two")

    def full(*_: object, **__: object) -> None:
        raise SyncFolderError("x", "no space is left")

    with monkeypatch.context() as patch:
        patch.setattr(ChunkFolder, "write", full)
        with pytest.raises(SyncFolderError):
            ada.sync.sync(secret=secret, encrypt=True)

    ada.shared()
    assert ada.exported().chunks == ()
    bob.pulled(secret=secret_of_file(b"\x00\x01" * 100))
    assert bob.titles() == ["One", "Two"]


_AT_ONCE = """
import sys
from pathlib import Path
from engram_py import Engram
from engram_py.base.settings import Settings

with Engram(settings=Settings(Path(sys.argv[1])), directory=Path(sys.argv[2])) as app:
    app.git_sync.status()
    print("ready", flush=True)
    sys.stdin.read()
    app.git_sync.sync()
"""


def test_processes_that_sync_at_once_write_what_others_can_read(sealed: Member, bob: Member) -> None:
    for number in range(20):
        sealed.save(f"Memory {number}")
    command = [sys.executable, "-c", _AT_ONCE, str(sealed.app.settings.data_dir), str(sealed.root)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=SRC) for _ in range(4)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
    for process in started:
        assert process.wait(60) == 0
        assert process.stdout is not None
        process.stdout.close()

    assert len(sealed.names()) == 3
    sealed.shared()
    done = bob.pulled(secret=SECRET)
    assert done.read is not None
    assert done.read.refused == ()
    assert bob.digest() == sealed.digest()
