"""Encrypted chunks (scrypt derives the key, AES-256-GCM seals each chunk), and their signatures: Ed25519 (RFC 8032).

RFC 7914 (scrypt), NIST SP 800-38D (GCM). A sealed file is a mark, the key's id, a nonce, and the sealed gzip; the
mark, the key's id and the chunk's name are authenticated with it, so none of them can be exchanged.

The nonce is a MAC of what is sealed, as in SIV (Rogaway and Shrimpton, "Deterministic Authenticated-Encryption",
2006): it differs wherever the text differs, and one text gives one file. Two processes or two branches that seal the
same rows would otherwise write two files of one name, which git cannot merge and of which one has the other's
signature.

The device's key and the keys of encrypted folders are files of mode 0600 in the data directory: never in the
database, a repository or an export.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.database.errors import DataDirError
from engram_py.database.keys import key_id
from engram_py.dataclass import dataclass
from engram_py.files import read_secret, reason, write_atomically
from engram_py.lazy import regex
from engram_py.sync.chunk import ChunkRefusedError
from engram_py.sync.errors import SyncKeyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


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


MOST_SIGNATURE_BYTES = 4096
_DOMAIN = b"engram_py chunk signature 1\0"
_KEY_CHARS = 43  # 32 bytes in base64url without its padding
_DEVICE_CHARS = 64
_FOLDER = "sync"
_DEVICE_FILE = "device.key"
_MOST_BYTES = 4096
_UNSAFE = regex(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Signer:
    """The device that signed a chunk: the name it gives itself, and the key that identifies it."""

    device: str
    key: str


class DeviceKey:
    """The key of this device."""

    def __init__(self, private: Ed25519PrivateKey, device: str) -> None:
        self._private = private
        self.device = device
        self.key = _to_text(private.public_key().public_bytes_raw())

    @classmethod
    def new(cls, device: str) -> DeviceKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate(), device)

    @classmethod
    def from_bytes(cls, data: bytes, device: str) -> DeviceKey:
        """Raises ValueError: they are not 32 bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.from_private_bytes(data), device)

    def to_bytes(self) -> bytes:
        return self._private.private_bytes_raw()

    def sign(self, name: str, file: bytes) -> bytes:
        """Return the signature file for the chunk ``name`` with these bytes."""
        signature = _to_text(self._private.sign(_message(name, self.device, file)))
        said = {"format": 1, "device": self.device, "key": self.key, "signature": signature}
        return (json.dumps(said, indent=1) + "\n").encode()


def signer_of(name: str, file: bytes, signature: bytes) -> Signer:
    """Return the signer of these bytes under this name. Raises ChunkRefusedError when the signature is wrong."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    said = _parsed(signature)
    device, key = said["device"], said["key"]
    try:
        public = Ed25519PublicKey.from_public_bytes(_from_text(key))
        public.verify(_from_text(said["signature"]), _message(name, device, file))
    except (InvalidSignature, ValueError):
        raise ChunkRefusedError("its signature is not of these bytes: one of the two was changed") from None
    return Signer(device, key)


def is_key(text: str) -> bool:
    """Return whether ``text`` has the shape of a device's public key."""
    try:
        return len(text) == _KEY_CHARS and len(_from_text(text)) == 32 and _to_text(_from_text(text)) == text
    except ValueError:
        return False


def _parsed(signature: bytes) -> dict[str, str]:
    try:
        said = json.loads(signature.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ChunkRefusedError("its signature cannot be read") from None
    names = ("device", "key", "signature")
    if not isinstance(said, dict) or not all(isinstance(said.get(name), str) for name in names):
        raise ChunkRefusedError("its signature cannot be read")
    device = said["device"]
    if len(device) > _DEVICE_CHARS or not device.isprintable() or not is_key(said["key"]):
        raise ChunkRefusedError("its signature names no device")
    return {name: said[name] for name in names}


def _message(name: str, device: str, file: bytes) -> bytes:
    """Return the signed bytes. Names and devices have no NUL, so each triple gives different bytes."""
    return _DOMAIN + b"\0".join([name.encode(), device.encode(), hashlib.sha256(file).digest()])


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_text(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as exc:
        raise ValueError("not base64") from exc


def _owner(name: str) -> str:
    return f"owner-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


# --- where they are kept ----------------------------------------------------------------------------------------


class Keys:
    """The keys that stay on this machine."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FOLDER

    def device(self, device: str) -> DeviceKey:
        """Return the key of this device, made when it is first asked for. ``device`` is its name."""
        path = self._path / _DEVICE_FILE
        try:
            return DeviceKey.from_bytes(bytes.fromhex(read_secret(path, _MOST_BYTES).decode("ascii").strip()), device)
        except FileNotFoundError:
            pass
        except OSError as exc:
            raise SyncKeyError(str(path), reason(exc)) from exc
        except ValueError as exc:
            raise SyncKeyError(str(path), "it is not a device key") from exc
        made = DeviceKey.new(device)
        self._write(path, f"{made.to_bytes().hex()}\n", overwrite=False)
        return self.device(device)  # another process may have been first

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
