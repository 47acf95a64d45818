"""Secrets of this machine, in the data directory with mode 0600: the device's key and the keys of folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

from engram_py.database.errors import DataDirError
from engram_py.files import read_bounded, reason, write_atomically
from engram_py.sync.errors import SyncKeyError
from engram_py.sync.sealing import Parameters, SealingKey, WrongSecretError, kept_key
from engram_py.sync.signing import DeviceKey

_FOLDER = "sync"
_DEVICE_FILE = "device.key"
_MOST_BYTES = 4096
_UNSAFE = re.compile(r"[^a-z0-9]+")


class Keys:
    """The keys that stay on this machine: never in the database, a repository or an export."""

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

    def keep_folder(self, target: str, key: SealingKey) -> None:
        """Store the key of a folder in place of an earlier one."""
        text = json.dumps({"key": key.master.hex(), "parameters": key.parameters.to_json()})
        self._write(self._file(target), f"{text}\n")

    def _file(self, target: str) -> Path:
        return self._path / f"{_UNSAFE.sub('-', target)}.json"

    def _write(self, path: Path, text: str, *, overwrite: bool = True) -> None:
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(path, text.encode("ascii"), overwrite=overwrite)
        except OSError as exc:
            raise DataDirError(str(self._path), reason(exc)) from exc
