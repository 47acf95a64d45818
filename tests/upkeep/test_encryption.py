"""Rows 114 and 115: a memory is encrypted, its key changed, and made plain again, whoever has it open or is killed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engram_py import Draft, Engram
from engram_py.base.database import keys
from engram_py.base.database.backup import restore
from engram_py.base.database.connection import key_of
from engram_py.base.database.driver import KEY_STATE
from engram_py.base.database.errors import (
    InvalidBackupError,
    InvalidKeyError,
    KeyNotKeptError,
    StoreDamagedError,
    StoreKeyError,
)
from engram_py.base.dataclass import replace
from engram_py.base.errors import ConflictError, InvalidArgumentError, StoreError
from engram_py.base.settings import Settings
from engram_py.interfaces.cli.main import cli
from engram_py.memory.sessions import spool_files
from engram_py.sharing.vault.values import VaultFileError
from engram_py.upkeep import hook_log
from engram_py.upkeep.encryption import decrypt, encrypt, rekey, set_aside
from tests.keychain import Ring, ring_in_place
from tests.support import raising

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PLAIN = b"SQLite format 3\0"
SECRETS = ("zebrafish", "quokka", "axolotl", "wombat")
RECORD = {"kind": "prompt", "content": "Feed the quokka", "source": "", "session_id": "s-9", "transcript": "",
          "directory": "/", "project": "widgets", "agent": "cli", "at": "2026-03-01T10:00:00.000Z"}  # fmt: skip


@pytest.fixture(autouse=True)
def no_keychain(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.backends import fail

    monkeypatch.setattr("keyring.get_keyring", fail.Keyring)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere" / "engram.key"


def opened(data_dir: Path) -> Engram:
    return Engram(settings=Settings(data_dir), directory=data_dir.parent, project="widgets")


def filled(data_dir: Path, rows: int = 40) -> None:
    """A memory with rows that are there, changed and destroyed, a backup, a spooled prompt and a hook that failed."""
    with opened(data_dir) as app:
        for number in range(rows):
            app.save(
                Draft(f"Decision {number}", f"The zebrafish pool has {number} places because of camelCase{number}.")
            )
        gone = app.save(Draft("Gone", "The axolotl was here. " * 400))
        app.observations.delete(gone.id, hard=True)
        app.backups.create()
    assert spool_files.put(data_dir, RECORD)
    hook_log.append(data_dir, now=NOW, agent="wombat", event="stop", reason="timeout")


def on(data_dir: Path, key_file: Path) -> str:
    """Encrypt with a key file; the key as it is written down."""
    told: list[str] = []
    encrypt(data_dir, kind="file", file=key_file, announce=told.append)
    return "".join(told)


def done(change: str, data_dir: Path, key_file: Path) -> None:
    match change:
        case "encrypt":
            on(data_dir, key_file)
        case "rekey":
            rekey(data_dir, announce=str)
        case _:
            decrypt(data_dir)


def every_byte(data_dir: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(data_dir.rglob("*")) if file.is_file()).lower()


def contents(data_dir: Path) -> dict[str, bytes]:
    files = (file for file in data_dir.rglob("*") if file.is_file() and file.name != "key.lock")
    return {str(file.relative_to(data_dir)): file.read_bytes() for file in files}


def rows(data_dir: Path) -> list[tuple[Any, ...]]:
    with opened(data_dir) as app:
        return app.store.tuples("select * from observations order by id")


def run(data_dir: Path, *words: str, typed: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["--data-dir", str(data_dir), *words], input=typed)


def test_114_an_encrypted_memory_has_no_readable_byte_and_answers_as_before_until_it_is_decrypted(
    data_dir: Path, key_file: Path
) -> None:
    filled(data_dir)
    with opened(data_dir) as app:
        found = [hit.id for hit in app.search("zebrafish camelCase7").results]
    assert found
    before, head = rows(data_dir), (data_dir / "engram.db").read_bytes()[:16]
    assert all(secret.encode() in every_byte(data_dir) for secret in SECRETS if secret != "axolotl")

    on(data_dir, key_file)

    assert head == PLAIN
    for database in [data_dir / "engram.db", *(data_dir / "backups").iterdir()]:
        assert database.read_bytes()[:16] != PLAIN
    assert [
        secret for secret in (*SECRETS, "camelcase", "create table") if secret.encode() in every_byte(data_dir)
    ] == []
    assert rows(data_dir) == before
    with opened(data_dir) as app:
        assert [hit.id for hit in app.search("zebrafish camelCase7").results] == found
        assert app.doctor.examine().status != "error"
        app.save(Draft("Later", "The axolotl came back."))
        assert b"axolotl" not in every_byte(data_dir)
    assert [failure.agent for failure in hook_log.lately(data_dir, NOW)] == ["wombat"]

    decrypt(data_dir)

    assert (data_dir / "engram.db").read_bytes()[:16] == PLAIN
    assert len(rows(data_dir)) == len(before) + 1
    assert not key_file.exists()
    assert not (data_dir / KEY_STATE).exists()
    assert b"wombat" in (data_dir / "hooks.log").read_bytes()
    with closing(sqlite3.connect(next((data_dir / "backups").iterdir()))) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


def test_115_without_its_key_a_memory_is_refused_with_the_next_step_and_stays_byte_for_byte(
    data_dir: Path, key_file: Path
) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    for spoil in (key_file.unlink, lambda: key_file.write_text(f"{keys.written(bytes(32))}\n"), lambda: None):
        spoil()
        before = contents(data_dir)
        done = run(data_dir, "search", "zebrafish")
        assert (done.exit_code, contents(data_dir)) == (1, before)
        assert "engram: key_missing: " in done.stderr
        assert "engram rekey --recovery" in done.stderr
    assert "key_missing" in run(data_dir, "doctor").stdout
    assert contents(data_dir) == before


def test_115_a_memory_whose_key_is_lost_is_set_aside_whole_and_an_empty_one_begins(
    data_dir: Path, key_file: Path
) -> None:
    filled(data_dir)
    written = on(data_dir, key_file)
    key_file.unlink()
    before = contents(data_dir)

    kept = set_aside(data_dir, NOW)

    assert kept is not None
    assert contents(kept) == before
    assert rows(data_dir) == []
    assert (data_dir / "engram.db").read_bytes()[:16] == PLAIN
    shutil.copytree(kept, data_dir.parent / "again")  # and with the key that somebody finds it opens
    decrypt(data_dir.parent / "again", recovery=written)
    assert len(rows(data_dir.parent / "again")) == 40
    assert set_aside(data_dir, NOW) is None


@pytest.mark.migrates
def test_a_new_file_of_an_encrypted_memory_is_encrypted_and_without_the_key_there_is_none(
    data_dir: Path, key_file: Path
) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    (data_dir / "engram.db").unlink()
    hidden = key_file.rename(key_file.with_name("hidden"))
    with pytest.raises(StoreKeyError):
        opened(data_dir)
    assert not (data_dir / "engram.db").exists()
    hidden.rename(key_file)
    assert rows(data_dir) == []
    assert (data_dir / "engram.db").read_bytes()[:16] != PLAIN


def test_a_damaged_encrypted_file_is_called_damaged_and_not_without_a_key(data_dir: Path, key_file: Path) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    raw = bytearray((data_dir / "engram.db").read_bytes())
    raw[100:200] = bytes(100)
    (data_dir / "engram.db").write_bytes(raw)
    with pytest.raises(StoreDamagedError):
        opened(data_dir)


def test_the_written_key_opens_what_the_key_file_lost_and_a_slip_of_the_pen_is_noticed(
    data_dir: Path, key_file: Path
) -> None:
    filled(data_dir)
    written = on(data_dir, key_file)
    key_file.unlink()
    slip = written.replace(written[0], "A" if written[0] != "A" else "B", 1)
    for wrong in (slip, written[:-1], keys.written(bytes(32)), "no key"):
        with pytest.raises(InvalidKeyError):
            rekey(data_dir, recovery=wrong, announce=str)
    spoken = " ".join(written.lower().split("-"))
    told: list[str] = []

    done = rekey(data_dir, recovery=spoken, announce=told.append)

    assert told == [done.recovery] != [written]
    assert key_file.read_text().split() == told
    assert len(rows(data_dir)) == 40
    with pytest.raises(InvalidKeyError):
        decrypt(data_dir, recovery=written)
    assert decrypt(data_dir, recovery=told[0]).encryption == "off"


def test_a_new_key_opens_all_there_is_and_the_old_one_nothing(data_dir: Path, key_file: Path) -> None:
    filled(data_dir)
    old = keys.parsed(on(data_dir, key_file), "")

    new = keys.parsed(rekey(data_dir, announce=str).recovery, "")

    for file in [data_dir / "engram.db", *(data_dir / "backups").iterdir()]:
        assert (keys.opens(file, old), keys.opens(file, new)) == (False, True)
    [spooled] = spool_files.waiting_files(data_dir)
    assert keys.unsealed(spooled.read_bytes(), old) is None
    assert json.loads(keys.unsealed(spooled.read_bytes(), new) or b"")["content"] == "Feed the quokka"
    assert [failure.agent for failure in hook_log.lately(data_dir, NOW)] == ["wombat"]
    assert len(rows(data_dir)) == 40


def test_a_hook_that_cannot_have_the_key_seals_what_it_owes_and_the_next_with_the_key_stores_it(
    data_dir: Path, key_file: Path
) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    hidden = key_file.rename(key_file.with_name("hidden"))
    said = {"session_id": "s-1", "cwd": str(data_dir.parent), "prompt": "Why does the wombat dig there at night?"}
    command = [sys.executable, "-m", "engram_py", "hook", "user-prompt", "--agent=claude-code"]
    environment = os.environ | {"ENGRAM_DATA_DIR": str(data_dir), "ENGRAM_PROJECT": "widgets"}
    done = subprocess.run(command, input=json.dumps(said).encode(), env=environment, capture_output=True, check=True)
    assert done.stdout == b""
    assert len(spool_files.waiting_files(data_dir)) == 2
    assert b"wombat" not in every_byte(data_dir)
    hidden.rename(key_file)
    with opened(data_dir) as app:
        app.spool.drain()
        assert app.store.tuples("select content from user_prompts order by id") == [
            ("Feed the quokka",), ("Why does the wombat dig there at night?",)
        ]  # fmt: skip
        assert "key_missing" in str(app.doctor.examine(check="hooks").checks[0].evidence)


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch, no_keychain: None) -> Ring:
    return ring_in_place(monkeypatch)


def test_the_key_is_in_the_keychain_and_leaves_it_with_the_encryption(data_dir: Path, ring: Ring) -> None:
    filled(data_dir)
    done = encrypt(data_dir, kind="keychain", announce=str)
    assert list(ring.kept.values()) == [done.recovery]
    assert done.recovery.lower().encode() not in every_byte(data_dir)
    assert len(rows(data_dir)) == 40
    again = rekey(data_dir, announce=str)
    assert list(ring.kept.values()) == [again.recovery]
    ring.kept.clear()
    with pytest.raises(StoreKeyError, match="keychain no longer has its key"):
        opened(data_dir)
    decrypt(data_dir, recovery=again.recovery)
    assert ring.kept == {}


def test_a_key_from_the_keychain_stays_in_memory_until_the_login_ends(
    data_dir: Path, ring: Ring, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Path("/dev/shm") / f"engram-test-{os.getpid()}"
    if not room.parent.is_dir():
        pytest.skip("this system has no folder in memory")
    room.mkdir(mode=0o700)
    try:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(room))
        encrypt(data_dir, kind="keychain", announce=str)
        asked = ring.asked
        assert rows(data_dir) == []
        assert ring.asked == asked
        [kept] = (room / "engram").iterdir()
        assert kept.stat().st_mode & 0o777 == 0o600
        kept.write_text("damaged")
        assert rows(data_dir) == []
        decrypt(data_dir)
        assert list((room / "engram").iterdir()) == []
    finally:
        shutil.rmtree(room)


def test_without_a_keychain_the_person_chooses_a_file_and_is_told_what_it_means(data_dir: Path, key_file: Path) -> None:
    filled(data_dir)
    before = contents(data_dir)
    with pytest.raises(KeyNotKeptError, match="no keychain"):
        encrypt(data_dir, kind="keychain", announce=str)
    inside = run(data_dir, "encrypt", "--key-file", str(data_dir / "key"))
    asked = run(data_dir, "encrypt", "--key-file", str(key_file), typed="n\n")
    assert (inside.exit_code, asked.exit_code) == (1, 1)
    assert "Store the key in" in asked.stderr
    assert contents(data_dir) == before
    done = run(data_dir, "encrypt", "--key-file", str(key_file), "--yes", "--json")
    assert json.loads(done.stdout)["recovery"] in done.stderr
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert f"on: the key is in {key_file}" in run(data_dir, "doctor").stdout
    assert "run it again with --yes" in run(data_dir, "decrypt").stderr
    assert run(data_dir, "decrypt", "--yes").stdout.startswith("The database is not encrypted, ")
    assert "encryption: off" in run(data_dir, "doctor").stdout


def test_a_key_that_a_command_prints(data_dir: Path, key_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(data_dir)
    safe = data_dir.parent / "a safe"
    safe.write_text("0a" * 32)
    monkeypatch.setenv("ENGRAM_KEY_COMMAND", f"cat '{safe}'")
    assert run(data_dir, "encrypt").exit_code == 0
    assert keys.opens(data_dir / "engram.db", bytes([10]) * 32)
    assert run(data_dir, "rekey").exit_code == 1  # it prints the same one
    safe.write_text("0b" * 32)
    assert "has the key of another memory" in run(data_dir, "search", "zebrafish").stderr
    assert run(data_dir, "rekey", "--recovery", typed="0a" * 32).exit_code == 0
    assert len(rows(data_dir)) == 40
    monkeypatch.setenv("ENGRAM_KEY_COMMAND", "false")
    with pytest.raises(StoreKeyError, match="failed"):
        opened(data_dir)
    monkeypatch.delenv("ENGRAM_KEY_COMMAND")
    with pytest.raises(StoreKeyError, match="is not set"):
        opened(data_dir)


@pytest.mark.migrates
def test_backups_are_restored_whatever_they_were_and_never_make_a_memory_readable(
    data_dir: Path, key_file: Path, tmp_path: Path
) -> None:
    filled(data_dir)
    with opened(data_dir) as app:
        app.backups.create(tmp_path / "plain.db")
    on(data_dir, key_file)
    with opened(data_dir) as app:
        app.save(Draft("Later", "A fact that came later."))
        app.backups.create(tmp_path / "sealed.db")
    assert (tmp_path / "sealed.db").read_bytes()[:16] != PLAIN

    assert restore(data_dir, tmp_path / "plain.db", clock=lambda: NOW).observations == 40
    assert len(rows(data_dir)) == 40
    assert restore(data_dir, tmp_path / "sealed.db", clock=lambda: NOW).observations == 41
    assert len(rows(data_dir)) == 41
    assert b"zebrafish" not in every_byte(data_dir)

    (data_dir / "engram.db").write_bytes(b"damaged" * 1000)
    assert restore(data_dir, tmp_path / "sealed.db", clock=lambda: NOW).observations == 41
    assert b"zebrafish" not in every_byte(data_dir)

    other = tmp_path / "other"
    with pytest.raises(InvalidBackupError):
        restore(other, tmp_path / "sealed.db", clock=lambda: NOW)
    encrypt(other, kind="file", file=tmp_path / "k2", recovery=key_file.read_text(), announce=str)
    assert restore(other, tmp_path / "sealed.db", clock=lambda: NOW).observations == 41
    assert len(rows(other)) == 41


def test_an_export_is_sealed_unless_it_shall_be_plain_and_is_read_where_the_key_is(
    data_dir: Path, key_file: Path, tmp_path: Path
) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    sealed, plain = tmp_path / "sealed.json", tmp_path / "plain.json"
    assert "is encrypted" in run(data_dir, "export", str(sealed)).stderr
    assert b"zebrafish" not in sealed.read_bytes()
    assert "anyone can read" in run(data_dir, "export", "--plain", str(plain)).stderr
    assert b"zebrafish" in plain.read_bytes()
    refused = run(data_dir, "export")
    assert (refused.exit_code, refused.stdout, "--plain" in refused.stderr) == (1, "", True)
    with opened(data_dir) as app:
        assert app.transfer.import_file(sealed).observations.read == 40
        assert app.transfer.import_file(BytesIO(plain.read_bytes())).observations.skipped == 40
    with opened(tmp_path / "other") as app, pytest.raises(StoreKeyError):
        app.transfer.import_file(sealed)
    with opened(data_dir) as app, pytest.raises(InvalidArgumentError):
        app.transfer.export(sys.stdout)


def test_a_vault_in_the_data_directory_is_moved_first_and_none_begins_there(data_dir: Path, key_file: Path) -> None:
    with opened(data_dir) as app:
        app.vault_files.write("notes/wombat.md", "It digs.\n")
    with raising(ConflictError, "readable_vault"):
        on(data_dir, key_file)
    assert not key_file.exists()
    shutil.rmtree(data_dir / "vaults")
    on(data_dir, key_file)
    with Engram(settings=Settings(data_dir), directory=data_dir.parent, project="gadgets") as app:
        with pytest.raises(VaultFileError):
            app.vault_files.write("notes/wombat.md", "It digs.\n")
        (data_dir / "stray.txt").write_text("left by hand")
        assert "stray.txt" in app.doctor.examine(check="encryption").checks[0].message


def test_a_vault_of_before_is_neither_written_nor_followed_in_an_encrypted_directory(
    data_dir: Path, key_file: Path, tmp_path: Path
) -> None:
    with opened(data_dir) as app:
        app.vault_files.write("notes/wombat.md", "It digs.\n")
    shutil.rmtree(data_dir / "vaults")
    on(data_dir, key_file)
    with opened(data_dir) as app:
        app.save(Draft("Wombats", "They dig.", "decision"))
        with pytest.raises(VaultFileError):
            app.vault_files.write("notes/wombat.md", "It digs.\n")
        with pytest.raises(VaultFileError):
            app.vault.init(data_dir / "vaults" / "mine")
        assert app.maintenance.run("heartbeat").passes[0].status == "done"
        assert "identity.md" in app.vault_files.list().files
        assert not (data_dir / "vaults").exists()
        app.vault.init(tmp_path / "vault")
        app.vault_files.write("notes/wombat.md", "It digs.\n")
        assert (tmp_path / "vault/notes/wombat.md").read_text() == "It digs.\n"


def test_an_installation_without_sqlcipher_says_how_to_get_it_and_leaves_the_file(
    data_dir: Path, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    before = contents(data_dir)
    monkeypatch.setitem(sys.modules, "sqlcipher3", None)
    with raising(StoreError, "encryption_not_installed") as refused:
        opened(data_dir)
    assert "pip install" in refused.value.hint
    assert contents(data_dir) == before


def test_a_plain_memory_pays_for_none_of_it(data_dir: Path) -> None:
    filled(data_dir)
    code = "import sys; from engram_py import Engram; Engram().close(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"sqlcipher3", "keyring", "engram_py.base.database.keys", "cryptography"}.isdisjoint(loaded)


# --- others have it open, and kills ---------------------------------------------------------------------------

SAVING = """
import sys
from pathlib import Path
from engram_py import Draft, Engram
from engram_py.base.errors import StoreError
from engram_py.base.settings import Settings
folder = Path(sys.argv[1])
with Engram(settings=Settings(folder), directory=folder.parent, project="widgets") as app:
    for number in range(10_000):
        try:
            saved = app.save(Draft(f"Row {number} of {sys.argv[2]}", f"Fact {sys.argv[2]}-{number} holds."))
        except StoreError as exc:
            print("refused", exc.code, flush=True)
            continue
        print("saved", saved.sync_id, flush=True)
        if app.store.news:
            print("news", *app.tell(), flush=True) if hasattr(app, "tell") else print("news", *app.store.tell())
"""


@pytest.fixture
def savers(data_dir: Path) -> Iterator[list[subprocess.Popen[str]]]:
    started = [
        subprocess.Popen([sys.executable, "-c", SAVING, data_dir, str(number)], stdout=subprocess.PIPE, text=True)
        for number in range(2)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def read_until(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def test_processes_that_save_meanwhile_lose_nothing_and_go_on_in_the_file_that_is_there(
    data_dir: Path, key_file: Path, savers: list[subprocess.Popen[str]]
) -> None:
    lines = [line for process in savers for line in read_until(process, 10)]
    for change in ("encrypt", "rekey", "decrypt"):
        done(change, data_dir, key_file)
        lines += [line for process in savers for line in read_until(process, 20)]
    for process in savers:
        process.terminate()
        assert process.stdout is not None
        lines += process.stdout.read().splitlines()
    assert [line for line in lines if not line.startswith("saved ")] == []
    with opened(data_dir) as app:
        kept = {row[0] for row in app.store.tuples("select sync_id from observations")}
        assert app.doctor.examine(check="integrity").status == "ok"
    assert {line.split()[1] for line in lines} <= kept
    assert (data_dir / "engram.db").read_bytes()[:16] == PLAIN


def killed_at(left: int, change: str, data_dir: Path, key_file: Path) -> bool:
    """Do a change in a fork that dies before it writes, moves or removes something for the nth time; whether it did."""

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(9)
            return real(*args, **named)

        return call

    if not (child := os.fork()):
        for place, name in ((Path, "replace"), (Path, "unlink"), (os, "fsync"), (Path, "rename")):
            setattr(place, name, counted(getattr(place, name)))
        done(change, data_dir, key_file)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 9), status
    return status == 9


def every_kill(change: str, data_dir: Path, key_file: Path) -> int:
    """Kill a change at each of its steps, look, go on, look again; the number of steps."""
    filled(data_dir, rows=3)
    if change != "encrypt":
        on(data_dir, key_file)
    start, plain = data_dir.parent / "start", change == "decrypt"
    shutil.copytree(data_dir, start)
    key, before, kills = key_file.read_text() if key_file.exists() else "", len(rows(data_dir)), 1
    while killed_at(kills, change, data_dir, key_file):
        assert len(rows(data_dir)) == before, f"killed at {kills}"
        done(change, data_dir, key_file)
        assert len(rows(data_dir)) == before, f"killed at {kills}, then finished"
        assert ((data_dir / "engram.db").read_bytes()[:16] == PLAIN) is plain
        assert (b"zebrafish" in every_byte(data_dir)) is plain
        assert not list(data_dir.rglob("*.new"))
        shutil.rmtree(data_dir)
        shutil.copytree(start, data_dir)
        key_file.unlink(missing_ok=True)
        if key:
            key_file.write_text(key)
        kills += 1
    return kills


@pytest.mark.skipif(os.name != "posix", reason="a process is forked")
@pytest.mark.parametrize("change", ["encrypt", pytest.param("rekey", marks=pytest.mark.soak), "decrypt"])
def test_a_kill_at_any_moment_leaves_a_memory_that_opens_and_a_change_that_goes_on(
    data_dir: Path, key_file: Path, change: str
) -> None:
    code = "import sys; from pathlib import Path; from tests.upkeep.test_encryption import every_kill"
    code += "; print(every_kill(sys.argv[1], *map(Path, sys.argv[2:])))"
    command = [sys.executable, "-c", code, change, str(data_dir), str(key_file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 10


def test_a_change_that_was_interrupted_is_told_and_comes_before_others(data_dir: Path, key_file: Path) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    state = keys.read_state(data_dir)
    assert state is not None
    keys.write_state(data_dir, replace(state, doing="rekey", before=state.key))
    with raising(StoreError, "encryption_pending", match="`engram rekey` was interrupted"):
        decrypt(data_dir)
    with opened(data_dir) as app:
        assert "was interrupted" in app.doctor.examine(check="encryption").checks[0].message
    (data_dir / KEY_STATE).write_text("{}")
    with pytest.raises(StoreKeyError, match="cannot be read"):
        opened(data_dir)


def test_a_file_that_is_encrypted_while_somebody_opens_it_is_opened_with_its_key(
    data_dir: Path, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(data_dir)
    keys_told: list[bytes] = []

    def told(path: Path) -> bytes:
        keys_told.append(key_of(path))
        if len(keys_told) == 1:
            monkeypatch.setattr("engram_py.base.database.store.key_of", key_of)
            on(data_dir, key_file)
            monkeypatch.setattr("engram_py.base.database.store.key_of", told)
        return keys_told[-1]

    monkeypatch.setattr("engram_py.base.database.store.key_of", told)
    with opened(data_dir) as app:
        assert app.search("zebrafish pool").results
    assert keys_told[0] == b""
    assert keys_told[-1]


@pytest.mark.parametrize("change", ["rekey", "decrypt"])
def test_a_memory_whose_key_is_replaced_while_somebody_opens_it_is_opened(
    data_dir: Path, key_file: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    filled(data_dir)
    on(data_dir, key_file)
    fetch = keys.fetch

    def late(kept: keys.Kept, path: Path) -> bytes:
        monkeypatch.setattr(keys, "fetch", fetch)
        done(change, data_dir, key_file)
        return fetch(kept, path)

    monkeypatch.setattr(keys, "fetch", late)
    with opened(data_dir) as app:
        assert app.search("zebrafish pool").results
