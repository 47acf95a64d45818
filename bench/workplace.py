"""Where a measurement happens: a temporary folder that holds a git repository and a data directory per use."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.corpus import Corpus
from bench.wire import Server, engram_command, one_tool_command

PROJECT = "bench"


@dataclass(frozen=True)
class Workplace:
    """``folder`` is the project ``bench``; ``quick`` asks for fewer rounds."""

    root: Path
    corpus: Corpus
    quick: bool
    rows: int

    @property
    def folder(self) -> Path:
        return self.root / PROJECT

    def data_dir(self, name: str) -> Path:
        return self.root / "data" / name

    def rounds(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def engram(self, name: str, *arguments: str) -> Server:
        return Server(engram_command("mcp", *arguments), data_dir=self.data_dir(name), folder=self.folder)

    def one_tool(self) -> Server:
        return Server(one_tool_command(), data_dir=self.data_dir("none"), folder=self.folder)


@contextmanager
def workplace(*, quick: bool, rows: int) -> Iterator[Workplace]:
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as name:
        place = Workplace(Path(name).resolve(), Corpus.load(), quick, rows)
        place.folder.mkdir()
        git(place.folder, "init", "--quiet")
        yield place


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)
