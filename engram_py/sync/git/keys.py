"""Secrets of this machine: the device's own key, and the keys of encrypted folders. In the data directory, 0600."""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

from engram_py.errors import DataDirError, SyncKeyError
from engram_py.files import read_bounded, reason
from engram_py.sync.sealing import Parameters, SealingKey, WrongSecretError, kept_key
from engram_py.sync.signing import DeviceKey

_FOLDER = "sync"
_DEVICE_FILE = "device.key"
_MOST_BYTES = 4096
_UNSAFE = re.compile(r"[^a-z0-9]+")


class Keys:
    """What is kept beside the database, and never in it, in a repository or in an export."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / _FOLDER

    def device(self, device: str) -> DeviceKey:
        """The key of this device, made when it is first asked for. ``device`` is what it calls itself."""
        path = self._path / _DEVICE_FILE
        try:
            return DeviceKey.from_bytes(bytes.fromhex(read_bounded(path, _MOST_BYTES).decode("ascii").strip()), device)
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as exc:
            raise SyncKeyError(str(path), "it is not a device key") from exc
        made = DeviceKey.new(device)
        self._create(path, f"{made.to_bytes().hex()}\n")
        return self.device(device)  # another process may have been first

    def folder(self, target: str) -> SealingKey | None:
        """The key of an encrypted folder; None when this machine was never told its secret."""
        path = self._file(target)
        try:
            kept = json.loads(read_bounded(path, _MOST_BYTES))
            return kept_key(bytes.fromhex(kept["key"]), Parameters.from_json(kept["parameters"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError, WrongSecretError) as exc:
            raise SyncKeyError(str(path), "it is not a folder's key") from exc

    def keep_folder(self, target: str, key: SealingKey) -> None:
        """Remember the key of a folder, in place of another."""
        path = self._file(target)
        part = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
        self._create(part, json.dumps({"key": key.master.hex(), "parameters": key.parameters.to_json()}) + "\n")
        part.replace(path)

    def _file(self, target: str) -> Path:
        return self._path / f"{_UNSAFE.sub('-', target)}.json"

    def _create(self, path: Path, text: str) -> None:
        """Write a file that only its owner can read, whole, unless there is one."""
        part = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if not path.exists():
                part.replace(path)
        except OSError as exc:
            raise DataDirError(str(self._path), reason(exc)) from exc
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
