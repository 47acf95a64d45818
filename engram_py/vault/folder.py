"""The files of a vault on the disk: inside its root only, each written in one step, and the manifest of an export."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from engram_py.dataclass import asdict, dataclass, field
from engram_py.documents.files import VAULT as MANIFEST
from engram_py.files import read_bounded, real_path, reason, write_atomically
from engram_py.vault.errors import NotAVaultError, OutsideVaultError, VaultFileError

FILE_LIMIT_BYTES = 32_000_000
_MANIFEST_BYTES = 256_000_000
_VERSION = 1
_MOST_LISTED = 20_000


@dataclass(frozen=True, slots=True)
class Manifest:
    """The last export: its project, and the digests of each file, of each item by its anchor, and of the lines of each
    file that are no items."""

    project: str
    files: Mapping[str, str] = field(default_factory=dict)
    items: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, Sequence[str]] = field(default_factory=dict)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Folder:
    """The folder of a vault. Every path is relative to ``root``, with ``/``."""

    def __init__(self, root: Path) -> None:
        self.root = real_path(root)

    # --- whose it is ------------------------------------------------------------------------------------

    def manifest(self) -> Manifest | None:
        """That of the last export; None in a folder that is no vault.

        Raises NotAVaultError where another program or version wrote it.
        """
        try:
            found = json.loads(read_bounded(self.root / MANIFEST, _MANIFEST_BYTES))
            if found["version"] != _VERSION:
                raise NotAVaultError(self.root, f"was written by another version ({found['version']})")
            return Manifest(str(found["project"]), dict(found["files"]), dict(found["items"]), dict(found["heads"]))
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise VaultFileError(self.root / MANIFEST, reason(exc)) from exc
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            raise NotAVaultError(self.root, f"has a {MANIFEST} that cannot be read") from exc

    def write_manifest(self, manifest: Manifest) -> None:
        values = {"version": _VERSION} | asdict(manifest)
        self.write(MANIFEST, json.dumps(values, ensure_ascii=False, indent=1, sort_keys=True) + "\n")

    def claim(self, project: str) -> None:
        """Make the folder this project's vault. Raises NotAVaultError: it holds something else."""
        known = self.manifest()
        if known is not None and known.project != project:
            raise NotAVaultError(self.root, f"is the vault of project {known.project!r}")
        if known is not None:
            return
        if any((parent / MANIFEST).is_file() for parent in self.root.parents):
            raise NotAVaultError(self.root, "lies inside another vault")
        try:
            if self.root.exists() and (not self.root.is_dir() or any(self.root.iterdir())):
                raise NotAVaultError(self.root, "is not empty, and not a vault")
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as exc:
            raise VaultFileError(self.root, reason(exc)) from exc
        self.write_manifest(Manifest(project))

    # --- files ------------------------------------------------------------------------------------------

    def place(self, path: str) -> Path:
        """Where ``path`` is. Raises OutsideVaultError: not below the root, through a link, or no name of a file."""
        parts = PurePosixPath(path.replace("\\", "/")).parts
        bad = not parts or any(part in ("..", "/") or ":" in part or "\0" in part for part in parts)
        if bad or path.startswith("~") or len(path) > 1_000:
            raise OutsideVaultError(path)
        found = self.root.joinpath(*parts)
        if real_path(found) != found:
            raise OutsideVaultError(path)
        return found

    def read(self, path: str) -> str | None:
        """Return the text of a file, None of one that is missing. Raises VaultFileError, OutsideVaultError."""
        try:
            return read_bounded(self.place(path), FILE_LIMIT_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as exc:
            raise VaultFileError(path, reason(exc)) from exc

    def write(self, path: str, text: str) -> bool:
        """Put a text at ``path``; whether it was another before. Raises VaultFileError, OutsideVaultError."""
        place, data = self.place(path), text.encode("utf-8", "replace")
        try:
            with contextlib.suppress(OSError):
                if place.read_bytes() == data:
                    return False
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_atomically(place, data, exact=True)
        except OSError as exc:
            raise VaultFileError(path, reason(exc)) from exc
        return True

    def set_aside(self, path: str, text: str) -> str:
        """Keep a text of the person's under a name that the memory does not write; the path of that."""
        stem, dot, ending = path.rpartition(".")
        number = 1
        while self.read(kept := f"{stem}.edited{'' if number == 1 else f'-{number}'}{dot}{ending}") not in (None, text):
            number += 1
        self.write(kept, text)
        return kept

    def remove(self, path: str) -> None:
        place = self.place(path)
        try:
            place.unlink(missing_ok=True)
            for folder in place.parents:
                if folder == self.root:
                    break
                folder.rmdir()
        except OSError:  # not empty, or not ours to remove
            pass

    def files(self, under: str = "") -> Iterator[str]:
        """Yield the files below a folder, sorted; hidden ones, links and what they lead to are left out."""
        start = self.place(under) if under.strip("/. ") else self.root
        found: list[str] = []
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            paths = (Path(folder, name) for name in names if not name.startswith("."))
            found += [path.relative_to(self.root).as_posix() for path in paths if not path.is_symlink()]
            if len(found) > _MOST_LISTED:
                break
        yield from sorted(found)
