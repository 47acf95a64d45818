"""The key of an encrypted memory: where it is kept, how it is written down, and small files that are sealed with it.

``key.json`` beside the database says where the key is: in the system's keychain, in a file, or what a command prints;
never the key itself. The key is 32 random bytes; written down it has three more, which tell a slip of the pen.

What is not SQLite's (the spool, the hooks' log, an export) is sealed: AES-256-GCM under a key that a new X25519 key
pair agrees upon with the memory's own pair, whose private half follows from the key. So a hook that cannot have the key
seals what it owes, and who has the disk reads none of it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

from engram_py.base.database import filesystem
from engram_py.base.database.driver import KEY_COMMAND, KEY_STATE, of_any_driver, open_to_read
from engram_py.base.database.errors import DataDirError, InvalidKeyError, KeyNotKeptError, StoreKeyError
from engram_py.base.dataclass import dataclass
from engram_py.base.files import read_bounded, reason, write_atomically

Kind = Literal["keychain", "file", "command"]
Doing = Literal["", "encrypt", "decrypt", "rekey"]
T = TypeVar("T")

KEY_BYTES = 32
PLAIN = b"SQLite format 3\0"
MARK = b"engram sealed 1\n"
_SERVICE = "engram"
_MOST_BYTES = 4096
_COMMAND_SECONDS = 60
_PUBLIC_BYTES = 32
_CHECK_BYTES = 3
_GROUP = 7
_KEY_LETTERS = 8 * _GROUP


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a key is kept. ``id`` tells it from others, and nothing of it."""

    kind: Kind
    id: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """What ``key.json`` says. ``records`` is the public half that small files are sealed for; ``doing``: a change that
    is not finished, which may have left files under the key ``before``."""

    key: Kept
    records: str
    doing: Doing = ""
    before: Kept | None = None


# --- the state ------------------------------------------------------------------------------------------------


def read_state(data_dir: Path) -> State | None:
    """Return what is known of the key, None where the memory is plain. Raises StoreKeyError: the file is damaged."""
    path = data_dir / KEY_STATE
    try:
        raw = json.loads(read_bounded(path, _MOST_BYTES))
        before = Kept(**raw["before"]) if raw["before"] else None
        return State(Kept(**raw["key"]), str(raw["records"]), raw["doing"], before)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as exc:
        raise StoreKeyError(str(data_dir), f"{path} cannot be read ({exc})") from exc


def write_state(data_dir: Path, state: State | None) -> None:
    """Keep the state, None: none. Raises DataDirError."""
    path = data_dir / KEY_STATE
    try:
        if state is None:
            path.unlink(missing_ok=True)
        else:
            before = _values(state.before) if state.before else None
            said = {"key": _values(state.key), "records": state.records, "doing": state.doing, "before": before}
            write_atomically(path, json.dumps(said, indent=2).encode() + b"\n")
    except OSError as exc:
        raise DataDirError(str(data_dir), reason(exc)) from exc


def _values(kept: Kept) -> dict[str, str]:
    return {"kind": kept.kind, "id": kept.id, "file": kept.file}


# --- a key as text --------------------------------------------------------------------------------------------


def new_key() -> bytes:
    return os.urandom(KEY_BYTES)


def key_id(key: bytes) -> str:
    return hmac.digest(key, b"engram_py key id", "sha256")[:8].hex()


def written(key: bytes) -> str:
    """Return a key as a person writes it down: eight groups of seven letters and digits."""
    text = base64.b32encode(key + hashlib.sha256(key).digest()[:_CHECK_BYTES]).decode()
    return "-".join(text[start : start + _GROUP] for start in range(0, len(text), _GROUP))


def parsed(text: str, source: str) -> bytes:
    """Return the key that a text holds, as it was written down or as 64 hexadecimal digits. Raises InvalidKeyError."""
    plain = "".join(letter for letter in text.upper() if letter.isalnum())
    with contextlib.suppress(ValueError):
        if len(plain) == 2 * KEY_BYTES:
            return bytes.fromhex(plain)
    try:
        data = base64.b32decode(plain.translate(str.maketrans("018", "OIB")))
    except ValueError:
        data = b""
    if len(plain) != _KEY_LETTERS:
        raise InvalidKeyError(source, f"is not a key: it has {len(plain)} letters and digits")
    if hashlib.sha256(data[:KEY_BYTES]).digest()[:_CHECK_BYTES] != data[KEY_BYTES:]:
        raise InvalidKeyError(source, "is not a key: one of its letters is wrong")
    return data[:KEY_BYTES]


# --- where keys are kept --------------------------------------------------------------------------------------


class NoKey(Exception):
    """Why a key cannot be had."""


def keep(key: bytes, kind: Kind, file: Path | None = None) -> Kept:
    """Keep a key so that later processes find it. Raises KeyNotKeptError: there is no keychain, or no such file."""
    kept = Kept(kind, key_id(key), str(file) if file else "")
    try:
        match kind:
            case "keychain":
                ask_keychain(lambda keyring: keyring.set_password(_SERVICE, _name(kept), written(key)))
            case "file":
                assert file is not None
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _write_lines(file, [written(key), *(line for line in _lines(file) if line != written(key))])
        if _fetched(kept) != key:
            raise NoKey(f"the {kind} gave another key back")
    except OSError as exc:
        raise KeyNotKeptError(f"{file} cannot be written ({reason(exc)})") from exc
    except NoKey as exc:
        raise KeyNotKeptError(str(exc)) from exc
    return kept


def forget(kept: Kept) -> None:
    """Take a key out of where it was kept, as far as that is possible."""
    with contextlib.suppress(OSError):
        _in_memory(kept.id).unlink()
    with contextlib.suppress(OSError, NoKey):
        if kept.kind == "file":
            _write_lines(Path(kept.file), [line for line in _lines(Path(kept.file)) if not _is(line, kept)])
        elif kept.kind == "keychain":
            ask_keychain(lambda keyring: keyring.delete_password(_SERVICE, _name(kept)))


def fetch(kept: Kept, path: Path) -> bytes:
    """Return a key from where it is kept, to open ``path``. Raises StoreKeyError."""
    try:
        return _fetched(kept)
    except NoKey as exc:
        raise StoreKeyError(str(path), str(exc)) from exc


def of_command() -> bytes:
    """Return the key that ``ENGRAM_KEY_COMMAND`` prints. Raises KeyNotKeptError, InvalidKeyError."""
    try:
        return parsed(_printed(), f"the output of {KEY_COMMAND}")
    except NoKey as exc:
        raise KeyNotKeptError(str(exc)) from exc


def _lines(file: Path) -> list[str]:
    """Return the keys of a key file; while a key is changed there are two."""
    try:
        return read_bounded(file, _MOST_BYTES).decode("ascii", "replace").split()
    except FileNotFoundError:
        return []


def _write_lines(file: Path, lines: list[str]) -> None:
    if lines:
        write_atomically(file, "".join(f"{line}\n" for line in lines).encode(), exact=True)
    else:
        file.unlink(missing_ok=True)


def _is(line: str, kept: Kept) -> bool:
    try:
        return key_id(parsed(line, kept.file)) == kept.id
    except InvalidKeyError:
        return False


def _name(kept: Kept) -> str:
    return f"database key {kept.id}"


def _fetched(kept: Kept) -> bytes:
    if kept.kind != "file":
        with contextlib.suppress(OSError, InvalidKeyError):
            key = parsed(read_bounded(_in_memory(kept.id), _MOST_BYTES).decode("ascii", "replace"), "the key")
            if key_id(key) == kept.id:
                return key
    try:
        key = parsed(_text(kept), f"the text in the {kept.kind}")
    except InvalidKeyError as exc:
        raise NoKey(exc.message) from exc
    if key_id(key) != kept.id:
        raise NoKey(f"the {kept.kind} has the key of another memory")
    if kept.kind != "file":
        _remember(kept.id, key)
    return key


def _text(kept: Kept) -> str:
    match kept.kind:
        case "command":
            return _printed()
        case "file":
            try:
                lines = _lines(Path(kept.file))
            except OSError as exc:
                raise NoKey(f"its key file {kept.file} cannot be read ({reason(exc)})") from exc
            if not lines:
                raise NoKey(f"its key file {kept.file} is missing or empty")
            return next((line for line in lines if _is(line, kept)), lines[0])
    text = ask_keychain(lambda keyring: keyring.get_password(_SERVICE, _name(kept)))
    if not text:
        raise NoKey("the system's keychain no longer has its key")
    return str(text)


def _printed() -> str:
    import shlex
    import subprocess

    command = os.environ.get(KEY_COMMAND, "")
    if not command.strip():
        raise NoKey(f"its key comes from a command, and {KEY_COMMAND} is not set")
    try:
        done = subprocess.run(
            shlex.split(command), capture_output=True, stdin=subprocess.DEVNULL, timeout=_COMMAND_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        code = getattr(exc, "returncode", "")
        raise NoKey(f"the command of {KEY_COMMAND} failed ({type(exc).__name__} {code})".replace(" )", ")")) from exc
    return done.stdout.decode("ascii", "replace")


def ask_keychain(ask: Callable[[Any], T]) -> T:
    """Return what ``ask`` makes of the module ``keyring``. Raises NoKey: none is there, or it is silent."""
    try:
        import keyring
        from keyring.backends import fail, null

        if isinstance(keyring.get_keyring(), fail.Keyring | null.Keyring):
            raise NoKey("this system has no keychain that keyring knows")
        return ask(keyring)
    except NoKey:
        raise
    except Exception as exc:  # not installed, locked, or whatever the platform raises
        raise NoKey(f"the system's keychain does not answer ({type(exc).__name__})") from exc


# Asking a keychain takes ten times a hook. Where the system has a folder for the time of a login, which lies in memory
# and is this user's alone, the key is kept there until then.


def _in_memory(name: str) -> Path:
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return Path(folder or os.devnull, "engram", name)


def _remember(name: str, key: bytes) -> None:
    path = _in_memory(name)
    with contextlib.suppress(OSError):
        if filesystem.filesystem_type(path) in ("tmpfs", "ramfs"):
            path.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomically(path, written(key).encode(), exact=True)


# --- which key opens a file -----------------------------------------------------------------------------------


def is_plain(path: Path) -> bool:
    """Return whether the file begins as one of SQLite's; not for one that this process has open."""
    with path.open("rb") as file:
        return file.read(len(PLAIN)) == PLAIN


def key_of(path: Path, data_dir: Path) -> bytes:
    """Return the key that opens a file, empty for a plain one; for a new one, the key of the memory.

    Raises StoreKeyError: none that can be had opens it.
    """
    while True:
        state = read_state(data_dir)
        try:
            return _key_by(state, path, data_dir)
        except StoreKeyError:
            if read_state(data_dir) == state:
                raise
            # It was encrypted, decrypted or rekeyed between the two.


def _key_by(state: State | None, path: Path, data_dir: Path) -> bytes:
    if not path.exists() or not path.stat().st_size:
        return b"" if state is None or state.doing == "decrypt" else fetch(state.key, path)
    if is_plain(path):
        return b""
    if state and not state.doing and path == data_dir / filesystem.DATABASE_NAME:
        return fetch(state.key, path)  # its id says that it is the one
    why = "nothing says where its key is"
    for take in _sources(state):
        try:
            key = take()
        except (NoKey, InvalidKeyError) as exc:
            why = str(exc)
            continue
        if opens(path, key):
            return key
        why = "it has another key"
    raise StoreKeyError(str(path), why)


def available(data_dir: Path) -> Iterator[bytes]:
    """Yield the keys that can be had here."""
    for take in _sources(read_state(data_dir)):
        with contextlib.suppress(NoKey, InvalidKeyError):
            yield take()


def _sources(state: State | None) -> list[Callable[[], bytes]]:
    kept = [one for one in (state.key, state.before) if one] if state else []
    found: list[Callable[[], bytes]] = [lambda one=one: _fetched(one) for one in kept]  # type: ignore[misc]
    if os.environ.get(KEY_COMMAND):
        found.append(lambda: parsed(_printed(), f"the output of {KEY_COMMAND}"))
    return found


def opens(path: Path, key: bytes) -> bool:
    """Return whether a key opens an encrypted file. Raises StoreError (encryption_not_installed)."""
    with contextlib.closing(open_to_read(path, key, "mode=ro&immutable=1")) as connection:
        try:
            connection.execute("select 1 from sqlite_master").fetchone()
        except of_any_driver(sqlite3.DatabaseError):
            return False
    return True


# --- small files ----------------------------------------------------------------------------------------------


def public_half(key: bytes) -> str:
    """Return what small files are sealed for, for ``State.records``."""
    half: bytes = _private(key).public_key().public_bytes_raw()
    return half.hex()


def seal(data_dir: Path, data: bytes) -> bytes:
    """Return what is written of a small file: as it is where the memory is plain. Raises StoreKeyError."""
    if not (data_dir / KEY_STATE).exists():
        return data
    state = read_state(data_dir)
    return data if state is None or state.doing == "decrypt" else sealed(data, bytes.fromhex(state.records))


def sealed(data: bytes, public: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    once = X25519PrivateKey.generate()
    theirs = once.public_key().public_bytes_raw()
    agreed = _agreed(once.exchange(X25519PublicKey.from_public_bytes(public)), theirs, public)
    return MARK + theirs + AESGCM(agreed).encrypt(bytes(12), data, None)  # a key of its own needs no other nonce


def unseal(data_dir: Path, data: bytes, key: bytes = b"") -> bytes:
    """Return a small file as it was; ``key`` is tried before others. Raises StoreKeyError: none that can be had opens
    it."""
    if not data.startswith(MARK):
        return data
    for one in itertools.chain([key] if key else [], available(data_dir)):
        if (found := unsealed(data, one)) is not None:
            return found
    raise StoreKeyError(str(data_dir), "no key that is available here opens it")


def unsealed(data: bytes, key: bytes) -> bytes | None:
    """Return what a key makes of a sealed file, None where it is another key's, or damaged."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    private, body = _private(key), data.removeprefix(MARK)
    theirs = body[:_PUBLIC_BYTES]
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(theirs))
        agreed = _agreed(shared, theirs, private.public_key().public_bytes_raw())
        return AESGCM(agreed).decrypt(bytes(12), body[_PUBLIC_BYTES:], None)
    except (InvalidTag, ValueError):
        return None


def _private(key: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(hmac.digest(key, b"engram_py records", "sha256"))


def _agreed(shared: bytes, theirs: bytes, public: bytes) -> bytes:
    return hmac.digest(shared, b"engram_py sealed" + theirs + public, "sha256")
