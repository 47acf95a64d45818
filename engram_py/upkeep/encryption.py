"""Encrypt the whole memory, make it plain again, or change its key: the database, then what lies beside it.

Each is one change that goes on where an earlier run was interrupted. ``key.json`` says what is being done before
anything is, so that other processes find the key of the file they meet, and hooks seal what they keep from then on.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from engram_py.base.database import backup, filesystem, keys
from engram_py.base.database.backup import Progress
from engram_py.base.database.driver import KEY_COMMAND, KEY_STATE, cipher
from engram_py.base.database.errors import InvalidKeyError, StoreKeyError
from engram_py.base.database.keys import Kept, Kind, State
from engram_py.base.database.store import Store
from engram_py.base.dataclass import replace
from engram_py.base.errors import ConflictError, InvalidArgumentError, StoreError
from engram_py.base.files import write_atomically
from engram_py.memory.sessions.spool_files import FOLDER as SPOOL
from engram_py.upkeep.hook_log import FILE as HOOK_LOG
from engram_py.upkeep.values import Check, Encryption

_LOCK = "key.lock"
_VAULTS = "vaults"
_EDITS = "edits"
# What is no memory and read before any key is known, or by other programs: settings, secrets, models, agents' files.
_NO_MEMORY = (
    "config.json", "http.token", "page.key", "page-links", "page-server", "cloud-token.json", "setup", "sync", "models",
    KEY_STATE, _LOCK,
)  # fmt: skip

Announce = Callable[[str], object]


def encrypt(
    data_dir: Path, *, kind: Kind, file: Path | None = None, recovery: str = "", announce: Announce,
    progress: Progress | None = None,
) -> Encryption:  # fmt: skip
    """Encrypt the memory with a new key, or with the one that was written down; ``announce`` is told it first.

    Raises StoreError, ConflictError (readable_vault), InvalidKeyError; what was there is as it was, or encrypted.
    """
    path = filesystem.prepare_data_dir(data_dir)
    cipher(path)
    with _alone(data_dir):
        if any((data_dir / _VAULTS).glob("*")):
            raise ConflictError(
                f"{data_dir / _VAULTS} has the memory as readable Markdown files; nothing was changed",
                hint="run `engram vault import` to keep their edits, move or delete the folder, and try again",
                code="readable_vault",
            )
        state = keys.read_state(data_dir)
        _refuse(state, "rekey")
        if state is None:
            Store.open(data_dir).close()  # a file that is damaged, foreign or too new is left as it is
            key = _chosen(kind, recovery)
            kept = keys.keep(key, kind, file)
            state = State(kept, keys.public_half(key), "encrypt")
        else:
            key = keys.fetch(state.key, path)
            state = replace(state, doing=state.doing and "encrypt")
        if state.doing:
            announce(keys.written(key))
            keys.write_state(data_dir, state)
        return _finish(data_dir, b"", key, state, progress)


def decrypt(data_dir: Path, *, recovery: str = "", progress: Progress | None = None) -> Encryption:
    """Make the memory plain again, and take its key out of where it was kept.

    Raises StoreError, InvalidKeyError; the memory is as it was, or plain.
    """
    path = filesystem.prepare_data_dir(data_dir)
    with _alone(data_dir):
        state = keys.read_state(data_dir)
        _refuse(state, "rekey")
        if state is None and (not path.exists() or not path.stat().st_size or keys.is_plain(path)):
            return Encryption(str(path), "off", "")
        key = _given(path, state.key if state else None, recovery)
        if state is not None:
            keys.write_state(data_dir, replace(state, doing="decrypt"))
        return _finish(data_dir, key, b"", state, progress)


def rekey(
    data_dir: Path, *, kind: Kind | None = None, file: Path | None = None, recovery: str = "", announce: Announce,
    progress: Progress | None = None,
) -> Encryption:  # fmt: skip
    """Give an encrypted memory a new key, kept where the old one was or where it is said.

    Raises StoreError, InvalidKeyError, InvalidArgumentError: it is not encrypted.
    """
    path = filesystem.prepare_data_dir(data_dir)
    with _alone(data_dir):
        state = keys.read_state(data_dir)
        _refuse(state, "encrypt")
        _refuse(state, "decrypt")
        if state is None and (not path.exists() or keys.is_plain(path)):
            raise InvalidArgumentError("memory", said=f"{path} is not encrypted", step="`engram encrypt` encrypts it")
        if state and state.doing:  # goes on
            key = keys.fetch(state.key, path)
            old = key if keys.opens(path, key) else _given(path, state.before, recovery)
        else:
            old = _given(path, state.key if state else None, recovery)
            kind = kind or (state.key.kind if state else "keychain")
            key = _chosen(kind, "")
            if key == old:
                said = f"{KEY_COMMAND} prints the present key; nothing was changed"
                step = "let it print a new key, then run `engram rekey --recovery` and type the present one"
                raise InvalidArgumentError(KEY_COMMAND, said=said, step=step)
            file = file or (Path(state.key.file) if state and state.key.kind == kind == "file" else None)
            kept = keys.keep(key, kind, file)
            state = State(kept, keys.public_half(key), "rekey", state.key if state else None)
        announce(keys.written(key))
        keys.write_state(data_dir, state)
        return _finish(data_dir, old, key, state, progress)


def set_aside(data_dir: Path, now: datetime) -> Path | None:
    """Keep an encrypted memory whose key is lost, and what belongs to it, in a folder of its own; where.

    An empty memory can begin then. None where the memory is plain.
    """
    path = filesystem.prepare_data_dir(data_dir)
    with _alone(data_dir):
        if keys.read_state(data_dir) is None and (not path.exists() or keys.is_plain(path)):
            return None
        kept = filesystem.free_name(data_dir / f"quarantine-{now:%Y%m%dT%H%M%SZ}")
        kept.mkdir(mode=0o700)
        names = (*(file.name for file in filesystem.database_files(path)), KEY_STATE, HOOK_LOG, SPOOL, _EDITS)
        for name in (*names, filesystem.BACKUPS):
            with contextlib.suppress(FileNotFoundError):
                (data_dir / name).rename(kept / name)
        return kept


def encryption_check(data_dir: Path) -> Check:
    """Return whether the memory is encrypted, where its key is, and what beside it can still be read."""
    state = keys.read_state(data_dir)
    if state is None:
        message = "off: anybody who gets this disk can read the memory; `engram encrypt` turns it on"
        return Check("encryption", "ok", message, {"on": False})
    evidence: dict[str, object] = {"on": True, "key": state.key.kind, "key_id": state.key.id}
    if state.doing:
        step = f"run `engram {state.doing}` again; it continues"
        return Check("encryption", "warning", f"`engram {state.doing}` was interrupted", evidence, step)
    if left := _readable(data_dir):
        message = f"on, but these files next to the memory are not encrypted: {', '.join(left[:5])}"
        evidence["readable"] = left[:20]
        return Check("encryption", "warning", message, evidence, "run `engram encrypt` again, or move them elsewhere")
    return Check("encryption", "ok", f"on: the key is {place_of(state.key)}", evidence)


def place_of(kept: Kept) -> str:
    """Return where a key is kept, to complete "the key is …"."""
    match kept.kind:
        case "keychain":
            return "in the system's keychain"
        case "file":
            return f"in {kept.file}"
    return f"the output of {KEY_COMMAND}"


# --- the steps ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    with filesystem.alone(data_dir / _LOCK) as alone:
        if not alone:
            raise StoreError(
                f"another process encrypts or decrypts {data_dir}",
                hint="wait until it has ended, and try again",
                code="encryption_busy",
            )
        yield


def _refuse(state: State | None, doing: str) -> None:
    if state is not None and state.doing == doing:
        raise StoreError(
            f"`engram {doing}` was interrupted", hint=f"run `engram {doing}` again first", code="encryption_pending"
        )


def _chosen(kind: Kind, recovery: str) -> bytes:
    if recovery:
        return keys.parsed(recovery, "the typed key")
    return keys.of_command() if kind == "command" else keys.new_key()


def _given(path: Path, kept: Kept | None, recovery: str) -> bytes:
    """Return the key of an encrypted memory: the one that was typed, or from where it is kept."""
    if recovery:
        key = keys.parsed(recovery, "the typed key")
        if not keys.is_plain(path) and not keys.opens(path, key):
            raise InvalidKeyError("the typed key", "is not the key of this memory")
        return key
    if kept is None:
        raise StoreKeyError(str(path), "nothing says where its key is")
    return keys.fetch(kept, path)


def _finish(data_dir: Path, old: bytes, key: bytes, state: State | None, progress: Progress | None) -> Encryption:
    """Bring the database and every file beside it from one key to another, empty for plain; then nothing is owed."""
    path = data_dir / filesystem.DATABASE_NAME
    if path.exists() and _is_under(old, path) and old != key:
        backup.change_key(path, old, key, progress)
    for left in data_dir.rglob(f"*{backup.BESIDE}"):  # of a run that was killed
        left.unlink(missing_ok=True)
    changed = sum(_changed(file, old, key) for file in _beside(data_dir))
    if not key:
        keys.write_state(data_dir, None)
        if state is not None:
            keys.forget(state.key)
        return Encryption(str(path), "off", "", changed)
    assert state is not None
    keys.write_state(data_dir, replace(state, doing="", before=None))
    if state.before is not None:
        keys.forget(state.before)
    said = keys.written(key) if state.doing else ""
    return Encryption(str(path), "on", place_of(state.key), changed, said, tuple(_readable(data_dir)))


def _is_under(key: bytes, path: Path) -> bool:
    plain = keys.is_plain(path)
    return plain if not key else not plain and keys.opens(path, key)


def _beside(data_dir: Path) -> Iterator[Path]:
    """Yield the files beside the database that hold something of the memory."""
    yield from sorted(file for file in data_dir.glob("engram-*") if file.is_file())  # set aside as damaged
    for name in (filesystem.BACKUPS, SPOOL, _EDITS):
        yield from sorted(file for file in (data_dir / name).rglob("*") if file.is_file())
    yield from (file for file in [data_dir / HOOK_LOG] if file.is_file())


def _changed(file: Path, old: bytes, key: bytes) -> bool:
    """Bring a file from one key to another in one step; return whether there was anything to do."""
    if file.suffix == ".db" and not file.read_bytes().startswith(keys.MARK) and _is_under(old, file):
        beside = file.with_name(f"{file.name}{backup.BESIDE}")
        with contextlib.suppress(StoreError):  # one that is damaged is sealed as it is
            backup.rewrite(file, old, beside, key)
            beside.replace(file)
            return True
    with contextlib.suppress(FileNotFoundError):  # somebody stored it meanwhile
        data = file.read_bytes()
        lines = data.splitlines() if file.name == HOOK_LOG else None
        done = _turned(data, old, key) if lines is None else b"".join(_turned_line(line, old, key) for line in lines)
        if done != data:
            write_atomically(file, done)
            return True
    return False


def _turned(data: bytes, old: bytes, key: bytes) -> bytes:
    if data.startswith(keys.MARK):
        plain = keys.unsealed(data, old) if old else None
        if plain is None:  # it is under the new key already, or under one that nobody has
            return data
        data = plain
    elif old and key:
        return data
    return keys.sealed(data, bytes.fromhex(keys.public_half(key))) if key else data


def _turned_line(line: bytes, old: bytes, key: bytes) -> bytes:
    data = line if line.startswith(b"{") else base64.b64decode(line)
    done = _turned(data, old, key)
    return (base64.b64encode(done) if done.startswith(keys.MARK) else done) + b"\n"


def _readable(data_dir: Path) -> list[str]:
    """Return the files in the data directory that are neither sealed nor encrypted, nor known to hold no memory."""
    path, left = data_dir / filesystem.DATABASE_NAME, []
    theirs = {path, *filesystem.database_files(path), data_dir / HOOK_LOG}
    for file in sorted(data_dir.rglob("*")):
        inside = file.relative_to(data_dir).parts
        if not file.is_file() or file in theirs or inside[0] in _NO_MEMORY or inside[0].startswith("quarantine-"):
            continue
        with contextlib.suppress(OSError), file.open("rb") as opened:
            head = opened.read(len(keys.MARK))
            if head != keys.MARK and (file.suffix != ".db" or head == keys.PLAIN):
                left.append("/".join(inside))
    return left
