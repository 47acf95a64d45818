"""Encrypted chunks: scrypt derives the key, AES-256-GCM seals each chunk.

RFC 7914 (scrypt), NIST SP 800-38D (GCM). A sealed file is a mark, the key's id, a nonce, and the sealed gzip; the
mark, the key's id and the chunk's name are authenticated with it, so none of them can be exchanged.

The nonce is a MAC of what is sealed, as in SIV (Rogaway and Shrimpton, "Deterministic Authenticated-Encryption",
2006): it differs wherever the text differs, and one text gives one file. Two processes or two branches that seal the
same rows would otherwise write two files of one name, which git cannot merge and of which one has the other's
signature.

The keys of encrypted folders are files of mode 0600 in the data directory: never in the database, a repository or an
export. Who signed a chunk is ``memory/privacy/signatures.py``.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engram_py.base.database.errors import DataDirError
from engram_py.base.database.keys import key_id
from engram_py.base.dataclass import dataclass
from engram_py.base.files import read_secret, reason, write_atomically
from engram_py.base.lazy import regex
from engram_py.sharing.sync.chunk import ChunkRefusedError
from engram_py.sharing.sync.errors import SyncKeyError

MARK = b"engram1\n"
_KEY_ID_BYTES = 8
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEAD = len(MARK) + _KEY_ID_BYTES + _NONCE_BYTES

# 128 MiB and about half a second for each guess (RFC 7914, 2; OWASP's first choice for scrypt).
_N, _R, _P = 2**17, 8, 1
# A folder may ask for more or less, but neither for all memory nor for a key that is quickly guessed.
_ALLOWED_N = (2**16, 2**17, 2**18)
_HEX = regex(r"[0-9a-f]+")
_FOLDER = "sync"
_MOST_BYTES = 4096
_UNSAFE = regex(r"[^a-z0-9]+")


class WrongSecretError(ValueError):
    """The passphrase or key file is not the one the folder was sealed with."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The public facts about a folder's key: its derivation and its id."""

    salt: str
    key_id: str
    n: int = _N

    def to_json(self) -> dict[str, Any]:
        kdf = {"kdf": "scrypt", "n": self.n, "r": _R, "p": _P, "salt": self.salt}
        return {"format": 1, "cipher": "AES-256-GCM", **kdf, "key_id": self.key_id}

    @classmethod
    def from_json(cls, value: object) -> Parameters:
        """Raises ValueError: it is not of the shape that ``to_json`` makes."""
        if not isinstance(value, dict) or value.get("format") != 1 or value.get("cipher") != "AES-256-GCM":
            raise ValueError("not a format this engram knows")
        if value.get("kdf") != "scrypt" or (value.get("r"), value.get("p")) != (_R, _P):
            raise ValueError("not a key derivation this engram knows")
        salt, key_id, n = value.get("salt"), value.get("key_id"), value.get("n")
        if n not in _ALLOWED_N:
            raise ValueError(f"scrypt's n is none of {', '.join(map(str, _ALLOWED_N))}")
        if not _is_hex(salt, 32) or not _is_hex(key_id, 2 * _KEY_ID_BYTES):
            raise ValueError("salt or key_id is damaged")
        return cls(salt=str(salt), key_id=str(key_id), n=int(n))


@dataclass(frozen=True, slots=True)
class SealingKey:
    """The key that seals and opens the chunks of one folder."""

    master: bytes
    parameters: Parameters

    def name(self, data: bytes) -> str:
        """Return the name of a sealed chunk: without the key nobody can check a guess of its text."""
        return hmac.digest(self._derived("chunk names"), data, "sha256").hex()

    def seal(self, name: str, packed: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = hmac.digest(self._derived("chunk nonce"), packed, "sha256")[:_NONCE_BYTES]
        head = MARK + bytes.fromhex(self.parameters.key_id)
        sealed = AESGCM(self._derived("chunk cipher")).encrypt(nonce, packed, head + name.encode())
        return head + nonce + sealed

    def open(self, name: str, sealed: bytes) -> bytes:
        """Raises ChunkRefusedError: it is damaged, renamed, or sealed with another key."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if not sealed.startswith(MARK) or len(sealed) < _HEAD + _TAG_BYTES:
            raise ChunkRefusedError("it is not a sealed chunk, or cut short")
        head, nonce = sealed[: _HEAD - _NONCE_BYTES], sealed[_HEAD - _NONCE_BYTES : _HEAD]
        key_id = head[len(MARK) :].hex()
        if key_id != self.parameters.key_id:
            raise ChunkRefusedError(f"it is sealed with the key {key_id}, the folder's is {self.parameters.key_id}")
        try:
            return AESGCM(self._derived("chunk cipher")).decrypt(nonce, sealed[_HEAD:], head + name.encode())
        except InvalidTag:
            raise ChunkRefusedError("it was changed or renamed after it was sealed") from None

    def _derived(self, use: str) -> bytes:
        return hmac.digest(self.master, f"engram_py {use}".encode(), "sha256")


def new_key(secret: bytes) -> SealingKey:
    """Return a new key of ``secret``, for a folder that has none."""
    salt = os.urandom(16).hex()
    master = _derive(secret, salt, _N)
    return SealingKey(master, Parameters(salt=salt, key_id=key_id(master), n=_N))


def derived_key(secret: bytes, parameters: Parameters) -> SealingKey:
    """Return the key of a folder. Raises WrongSecretError."""
    return kept_key(_derive(secret, parameters.salt, parameters.n), parameters)


def kept_key(master: bytes, parameters: Parameters) -> SealingKey:
    """Return a stored key. Raises WrongSecretError."""
    if not hmac.compare_digest(key_id(master), parameters.key_id):
        raise WrongSecretError("not the key of this folder")
    return SealingKey(master, parameters)


def secret_of(passphrase: str) -> bytes:
    """Return a passphrase as bytes, the same however the keyboard composes its accents."""
    return b"passphrase:" + unicodedata.normalize("NFC", passphrase).encode()


def secret_of_file(data: bytes) -> bytes:
    return b"file:" + hashlib.sha256(data).digest()


def _derive(secret: bytes, salt: str, n: int) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return Scrypt(salt=bytes.fromhex(salt), length=32, n=n, r=_R, p=_P).derive(secret)


def _is_hex(value: object, length: int) -> bool:
    return isinstance(value, str) and len(value) == length and _HEX.fullmatch(value) is not None


def _owner(name: str) -> str:
    return f"owner-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


# --- where they are kept ----------------------------------------------------------------------------------------


class Keys:
    """The keys that stay on this machine."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FOLDER

    def folder(self, target: str) -> SealingKey | None:
        """Return the key of an encrypted folder, None without one on this machine."""
        path = self._file(target)
        try:
            kept = json.loads(read_secret(path, _MOST_BYTES))
            return kept_key(bytes.fromhex(kept["key"]), Parameters.from_json(kept["parameters"]))
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise SyncKeyError(str(path), reason(exc)) from exc
        except (ValueError, KeyError, TypeError, RecursionError, WrongSecretError) as exc:
            raise SyncKeyError(str(path), "it is not a folder's key") from exc

    def keep_folder(self, target: str, key: SealingKey, *, owners: Iterable[str] = ()) -> None:
        """Store the key of a folder in place of an earlier one, and as that of its ``owners``."""
        text = json.dumps({"key": key.master.hex(), "parameters": key.parameters.to_json()})
        for name in (target, *map(_owner, owners)):
            self._write(self._file(name), f"{text}\n")

    def of_owners(self, owners: Iterable[str]) -> SealingKey | None:
        """Return the key under which a project, or what goes to a remote, was encrypted in any checkout here."""
        return next((key for name in owners if (key := self.folder(_owner(name))) is not None), None)

    def _file(self, target: str) -> Path:
        return self._path / f"{_UNSAFE.sub('-', target)}.json"

    def _write(self, path: Path, text: str, *, overwrite: bool = True) -> None:
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(path, text.encode("ascii"), overwrite=overwrite)
        except OSError as exc:
            raise DataDirError(str(self._path), reason(exc)) from exc
