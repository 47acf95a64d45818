"""What a folder of readable memories costs: ``python -m bench.memory_files [--memories 10000]``.

Each figure stands beside a baseline of the same run: the chunks that hold the same rows, and ``git status`` of the same
folder. Seconds of a clock on the wall, and of the processor of this process.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from engram_py import Draft, Engram
from engram_py.base.settings import Settings

_TEXT = "**What**: thing {0} was decided\n**Why**: because of {1}\n" + "text " * 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        _measure(Path(folder), wanted.memories)


def _measure(folder: Path, count: int) -> None:
    texts, chunks = _repository(folder / "texts"), _repository(folder / "chunks")
    with _memory(folder / "data", texts) as app, app.store.transaction():
        for number in range(count):
            draft = Draft(f"Memory {number} about topic {number % 97}", _TEXT.format(number, number * 7), "decision")
            app.save(draft)
    packed = _packed(folder, chunks)
    with _memory(folder / "data", texts) as app:
        _show("first export", lambda: app.git_sync.sync(format="text"), packed[0], "of chunks")
        _git(texts, "add", "-A")
        _git(texts, "commit", "-q", "-m", "memory")
        status = _timed(lambda: _git(texts, "status", "--short"))
        _show("a session that starts after a commit", lambda: app.git_sync.read_new(until=time.monotonic() + 5), status)
        _show("the same again", lambda: app.git_sync.read_new(until=time.monotonic() + 5), status)
        _show("nothing new, asked", app.git_sync.sync, status)
        app.save(Draft("One more", "Its text."))
        _show("one change", app.git_sync.sync, status)
    with _memory(folder / "other", texts) as app:
        _show("first import", app.git_sync.sync, packed[1], "of chunks")


def _packed(folder: Path, chunks: Path) -> tuple[float, float]:
    """Return the seconds that the same rows take as chunks, out and in."""
    with _memory(folder / "data", chunks) as app:
        out = _timed(lambda: app.git_sync.sync(format="chunks"))
    with _memory(folder / "third", chunks) as app:
        return out, _timed(app.git_sync.sync)


def _show(name: str, action: Callable[[], object], baseline: float, of: str = "of git status") -> None:
    spent = time.process_time()
    seconds = _timed(action)
    print(
        f"{name}: {seconds:.3f} s ({time.process_time() - spent:.3f} s of processor), {seconds / baseline:.2f} x {of}"
    )


def _timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def _memory(data: Path, repository: Path) -> Engram:
    return Engram(settings=Settings(data, documents=False), directory=repository)


def _repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        _git(folder, "config", name, value)
    _git(folder, "remote", "add", "origin", "https://git.example.org/acme/bench.git")  # both are one project
    _git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


if __name__ == "__main__":
    main()
