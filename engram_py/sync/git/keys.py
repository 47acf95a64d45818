"""Secrets of this machine, and the signatures of its chunks: Ed25519 (RFC 8032), in a file beside each chunk.

The device's key and the keys of encrypted folders are files of mode 0600 in the data directory: never in the database,
a repository or an export.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.database.errors import DataDirError
from engram_py.dataclass import dataclass
from engram_py.files import read_bounded, reason, write_atomically
from engram_py.lazy import regex
from engram_py.sync.errors import SyncKeyError
from engram_py.sync.packing import ChunkRefusedError
from engram_py.sync.sealing import Parameters, SealingKey, WrongSecretError, kept_key

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
            return DeviceKey.from_bytes(bytes.fromhex(read_bounded(path, _MOST_BYTES).decode("ascii").strip()), device)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as exc:
            raise SyncKeyError(str(path), "it is not a device key") from exc
        made = DeviceKey.new(device)
        self._write(path, f"{made.to_bytes().hex()}\n", overwrite=False)
        return self.device(device)  # another process may have been first

    def folder(self, target: str) -> SealingKey | None:
        """Return the key of an encrypted folder, None without one on this machine."""
        path = self._file(target)
        try:
            kept = json.loads(read_bounded(path, _MOST_BYTES))
            return kept_key(bytes.fromhex(kept["key"]), Parameters.from_json(kept["parameters"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError, WrongSecretError) as exc:
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
