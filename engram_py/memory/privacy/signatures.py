"""The person's key, and what it signs: rows that leave this memory, and the chunks that carry them. Ed25519 (RFC 8032).

A row's signature covers its identity, its clock and everything in it that speaks (``sharing/sync/mutation.py`` names the
columns), so an old text cannot be given a newer clock, nor a text another scope. Signing is deterministic: one state
has one signature, on every machine that has the key.

The key is a file of mode 0600 in the data directory: never in the database, a repository or an export. A person carries
it to their other machines as 24 words (BIP 39). Keys that another one replaced here stay the person's own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.base.database.errors import DataDirError
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidArgumentError, StoreError
from engram_py.base.files import read_secret, reason, write_atomically

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MOST_SIGNATURE_BYTES = 4096
_CHUNK_DOMAIN, _ROW_DOMAIN = b"engram_py chunk signature 1\0", b"engram_py row signature 1\0"
_KEY_BYTES, _KEY_CHARS = 32, 43  # base64url without its padding
_DEVICE_CHARS = 64
_FOLDER, _FILE = "sync", "device.key"
_MOST_KEYS, _MOST_BYTES = 16, 4096


class WrongSignatureError(ValueError):
    """A signature that is not of these bytes, or cannot be read; the text is the reason."""


class PersonKeyError(StoreError):
    code = "person_key_unusable"

    def __init__(self, path: str, why: str) -> None:
        self.path, self.reason = path, why
        super().__init__(
            f"{path} is not a key: {why}",
            hint="restore it from a backup, or remove it and run `engram key import` with the phrase",
        )


@dataclass(frozen=True, slots=True)
class Signer:
    """The one who signed a chunk: the name the device gives itself, and the key that identifies the person."""

    device: str
    key: str


class PersonKey:
    """A key of this memory's person. ``key`` is its public half, 43 characters."""

    def __init__(self, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.key = _to_text(private.public_key().public_bytes_raw())

    @classmethod
    def new(cls) -> PersonKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, data: bytes) -> PersonKey:
        """Raises ValueError: they are not 32 bytes."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(Ed25519PrivateKey.from_private_bytes(data))

    def to_bytes(self) -> bytes:
        return self._private.private_bytes_raw()

    def sign_chunk(self, name: str, device: str, file: bytes) -> bytes:
        """Return the signature file for the chunk ``name`` with these bytes, written by ``device``."""
        signature = _to_text(self._private.sign(_chunk_message(name, device, file)))
        said = {"format": 1, "device": device, "key": self.key, "signature": signature}
        return (json.dumps(said, indent=1) + "\n").encode()

    def sign(self, content: Mapping[str, Any]) -> str:
        """Return the signature of a row: the key and the signature, with a dot between them."""
        return f"{self.key}.{_to_text(self._private.sign(_row_message(content)))}"


def row_signer(content: Mapping[str, Any], signature: object) -> str:
    """Return the key that signed a row with this content; empty where none did."""
    if not isinstance(signature, str):
        return ""
    key, _, signed = signature.partition(".")
    try:
        _verify(key, signed, _row_message(content))
    except WrongSignatureError:
        return ""
    return key


def chunk_signer(name: str, file: bytes, signature: bytes) -> Signer:
    """Return the signer of these bytes under this name. Raises WrongSignatureError."""
    said = _parsed(signature)
    _verify(said["key"], said["signature"], _chunk_message(name, said["device"], file))
    return Signer(said["device"], said["key"])


def is_key(text: str) -> bool:
    """Return whether ``text`` has the shape of a public key."""
    try:
        return len(text) == _KEY_CHARS and len(_from_text(text)) == _KEY_BYTES and _to_text(_from_text(text)) == text
    except ValueError:
        return False


def _verify(key: str, signature: str, message: bytes) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        if not is_key(key):
            raise ValueError("no key")
        Ed25519PublicKey.from_public_bytes(_from_text(key)).verify(_from_text(signature), message)
    except (InvalidSignature, ValueError):
        raise WrongSignatureError("its signature is not of these bytes: one of the two was changed") from None


def _parsed(signature: bytes) -> dict[str, str]:
    try:
        said = json.loads(signature.decode("utf-8"))
    except (ValueError, RecursionError):
        raise WrongSignatureError("its signature cannot be read") from None
    names = ("device", "key", "signature")
    if not isinstance(said, dict) or not all(isinstance(said.get(name), str) for name in names):
        raise WrongSignatureError("its signature cannot be read")
    device = said["device"]
    if len(device) > _DEVICE_CHARS or not device.isprintable() or not is_key(said["key"]):
        raise WrongSignatureError("its signature names no device")
    return {name: said[name] for name in names}


def _chunk_message(name: str, device: str, file: bytes) -> bytes:
    """Return the signed bytes. Names and devices have no NUL, so each triple gives different bytes."""
    return _CHUNK_DOMAIN + b"\0".join([name.encode(), device.encode(), hashlib.sha256(file).digest()])


def _row_message(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return _ROW_DOMAIN + hashlib.sha256(text.encode()).digest()


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _from_text(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as exc:
        raise ValueError("not base64") from exc


# --- where the key is kept --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyShown:
    """The public half of the person's key, the keys that it replaced here, and the file they are in. ``is_new``: the
    key was not this memory's before."""

    key: str
    former: tuple[str, ...]
    path: str
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class KeyPhrase:
    """The person's key as words to write down: who has them speaks as the person."""

    phrase: str
    key: str


class Keyring:
    """The keys of this memory's person. The first use makes one."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FOLDER / _FILE
        self._known: tuple[tuple[int, int], list[PersonKey]] = (0, 0), []

    @property
    def person(self) -> PersonKey:
        """The key that signs. Raises PersonKeyError, DataDirError."""
        if not (found := self._read()):
            self._write([PersonKey.new()], overwrite=False)
            found = self._read()  # another process may have been first
        return found[0]

    @property
    def own(self) -> frozenset[str]:
        """The public halves of all keys that are the person's; empty before the first use. Raises PersonKeyError."""
        return frozenset(one.key for one in self._read())

    def show(self) -> KeyShown:
        """Return what may be told to anybody. Raises PersonKeyError, DataDirError."""
        key = self.person.key
        return KeyShown(key, tuple(one.key for one in self._read()[1:]), str(self._path))

    def phrase(self) -> KeyPhrase:
        """Return the key as 24 words. Raises PersonKeyError, DataDirError."""
        from mnemonic import Mnemonic

        return KeyPhrase(Mnemonic("english").to_mnemonic(self.person.to_bytes()), self.person.key)

    def take_in(self, phrase: str) -> KeyShown:
        """Make the key of a phrase the one that signs here; the present one stays the person's own.

        Raises InvalidArgumentError: a word is wrong, or they are in another order.
        """
        made = _key_of(phrase)
        known = self._read()
        self._write([made, *(one for one in known if one.key != made.key)][:_MOST_KEYS])
        is_new = not known or known[0].key != made.key
        return KeyShown(made.key, tuple(one.key for one in self._read()[1:]), str(self._path), is_new)

    def _read(self) -> list[PersonKey]:
        """Return the keys of the file, the one that signs first; another process may have exchanged it."""
        try:
            about = self._path.stat()
            state = about.st_mtime_ns, about.st_ino
            if state != self._known[0]:
                self._known = state, self._parsed()
            return self._known[1]
        except FileNotFoundError:
            return []
        except OSError as exc:
            raise PersonKeyError(str(self._path), reason(exc)) from exc

    def _parsed(self) -> list[PersonKey]:
        try:
            lines = read_secret(self._path, _MOST_BYTES).decode("ascii").split()
            return [PersonKey.from_bytes(bytes.fromhex(line)) for line in lines]
        except ValueError as exc:
            raise PersonKeyError(str(self._path), str(exc)) from exc

    def _write(self, keys: list[PersonKey], *, overwrite: bool = True) -> None:
        text = "".join(f"{one.to_bytes().hex()}\n" for one in keys)
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self._path, text.encode("ascii"), overwrite=overwrite)
        except OSError as exc:
            raise DataDirError(str(self._path.parent), reason(exc)) from exc


def _key_of(phrase: str) -> PersonKey:
    from mnemonic import Mnemonic

    words = Mnemonic("english")
    said = words.normalize_string(" ".join(phrase.lower().split()))
    given = said.split(" ")
    if strange := [number for number, word in enumerate(given, 1) if word not in words.wordlist]:
        said = f"word {strange[0]} of the phrase is not in the list that phrases are made of"
        raise InvalidArgumentError("phrase", said=said, step="`engram key export` on the other machine prints it")
    if len(given) != 24 or not words.check(said):
        raise InvalidArgumentError(
            "phrase",
            said="these words are not a phrase: one is missing, wrong or in another place",
            step="type the 24 words as `engram key export` printed them",
        )
    return PersonKey.from_bytes(bytes(words.to_entropy(said)))
