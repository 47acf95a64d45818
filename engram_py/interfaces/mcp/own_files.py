"""The files of this package as they were when the server started.

A package is upgraded, or the cache that holds it is pruned, while an agent's server runs. A module that is imported
then would be missing, or of another version than those that are loaded. So the server reads the source of all modules
after it listed its tools (1.4 MB, compressed), and imports from that what is not on the disk as it was.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import engram_py
from engram_py.base.dataclass import dataclass

State = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Source:
    file: Path
    state: State | None
    compressed: bytes

    @property
    def is_package(self) -> bool:
        return self.file.name == "__init__.py"


class OwnFiles:
    """A finder of modules for ``sys.meta_path``: of those that are no more on the disk as ``keep`` read them."""

    def __init__(self, package: ModuleType = engram_py) -> None:
        assert package.__file__ is not None
        self._name, self._folder = package.__name__, Path(package.__file__).parent
        self._first = self._folder / "__init__.py"
        self._first_state = _state(self._first)
        self._kept: dict[str, _Source] = {}

    def keep(self) -> None:
        """Read the source of every module, and import from it from now on what changed on the disk."""
        for name, file in self._modules():
            state = _state(file)
            try:
                self._kept[name] = _Source(file, state, zlib.compress(file.read_bytes(), 1))
            except OSError:  # gone already: it is missing then, as it is without this
                continue
        sys.meta_path.insert(0, self)

    def _modules(self) -> Iterator[tuple[str, Path]]:
        for folder, _, files in os.walk(self._folder):
            inside = Path(folder).relative_to(self._folder).parts
            for file in files:
                if file.endswith(".py"):
                    parts = [self._name, *inside, *([] if file == "__init__.py" else [file.removesuffix(".py")])]
                    yield ".".join(parts), Path(folder, file)

    def have_changed(self) -> bool:
        """Return whether the package is gone, or another one is in its place."""
        return _state(self._first) != self._first_state

    # What the import system calls.

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        source = self._kept.get(name)
        if source is None or _state(source.file) == source.state:
            return None
        spec = ModuleSpec(name, cast("Any", self), origin=str(source.file), is_package=source.is_package)
        spec.has_location = True
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        source = self._kept[module.__name__]
        code = compile(zlib.decompress(source.compressed), source.file, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 (it is this package's own)


def _state(file: Path) -> State | None:
    """Return what differs for another file under the same name; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
