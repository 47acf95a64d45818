"""Store the token in the system's keychain, or in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Literal

from engram_py.files import write_atomically
from engram_py.log import logger_of

logger = logger_of(__name__)

FILE = "cloud-token.json"
_SERVICE = "engram"
_LONGEST_FILE = 10_000

Kept = Literal["keychain", "file"]


def keep(data_dir: Path, server: str, token: str) -> Kept:
    """Store ``token`` for ``server`` in place of an earlier one. Raises OSError when it cannot be written."""
    if _keep_in_keychain(server, token):
        _forget_file(data_dir)
        return "keychain"
    write_atomically(data_dir / FILE, json.dumps({"server": server, "token": token}).encode())
    return "file"


def kept(data_dir: Path, server: str, place: str) -> str:
    """Return the token of that server, '' when it is missing or the keychain is locked."""
    if place == "keychain":
        return _from_keychain(server)
    try:
        with (data_dir / FILE).open("rb") as file:
            values = json.loads(file.read(_LONGEST_FILE))
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(values, dict) or values.get("server") != server:
        return ""
    token = values.get("token")
    return token if isinstance(token, str) else ""


def forget(data_dir: Path, server: str, place: str) -> bool:
    """Delete the token; return whether it is certainly gone."""
    _forget_file(data_dir)
    if place != "keychain":
        return not (data_dir / FILE).exists()
    try:
        import keyring

        if keyring.get_password(_SERVICE, server) is not None:
            keyring.delete_password(_SERVICE, server)
        return keyring.get_password(_SERVICE, server) is None
    except Exception as exc:  # a keychain raises what its platform raises
        logger.info("the keychain does not answer: %s", type(exc).__name__)
        return False


def mark(token: str) -> str:
    """Return a short fingerprint of a token, which reveals nothing of it."""
    return hashlib.sha256(b"engram token " + token.encode("utf-8", "replace")).hexdigest()[:12]


def _keep_in_keychain(server: str, token: str) -> bool:
    try:
        import keyring
        from keyring.backends import fail, null

        if isinstance(keyring.get_keyring(), fail.Keyring | null.Keyring):
            return False
        keyring.set_password(_SERVICE, server, token)
        return keyring.get_password(_SERVICE, server) == token
    except ImportError:
        return False
    except Exception as exc:  # a keychain raises what its platform raises
        logger.info("the keychain cannot be used: %s", type(exc).__name__)
        return False


def _from_keychain(server: str) -> str:
    try:
        import keyring

        return keyring.get_password(_SERVICE, server) or ""
    except Exception as exc:  # not installed any more, locked, or the platform's own failure
        logger.info("the keychain does not answer: %s", type(exc).__name__)
        return ""


def _forget_file(data_dir: Path) -> None:
    with contextlib.suppress(OSError):
        (data_dir / FILE).unlink()
