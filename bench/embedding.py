"""``python -m bench.embedding``: what computing vectors costs, as `engram vectors on --wait` does it in a process of
its own: texts a second, by the clock and by the processor, and the most memory the process held.

The texts are words of the model's vocabulary by chance: they cost what texts of their length cost.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from engram_py.recall.vectors import embedders

SHORT, LONG = (12, 45), (180, 240)  # words


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.embedding", description="Measure computing vectors.")
    parser.add_argument("embedder", nargs="?", default="sentence", help="sentence, static, or as ENGRAM_EMBEDDER")
    parser.add_argument("--texts", type=int, default=600, help="how many short ones; of long ones a fifth")
    parser.add_argument("--models", type=Path, help="where the model was fetched to: models/ of a data directory")
    arguments = parser.parse_args()
    print(f"{'texts':26}{'per second':>11}{'per second of processor':>25}{'seconds':>9}{'memory':>9}")
    for name, words, count in (("short", SHORT, arguments.texts), ("long", LONG, arguments.texts // 5)):
        with tempfile.TemporaryDirectory(prefix="engram-embedding-") as room:
            folder = Path(room)
            _engram(folder, "vectors", "off")
            if arguments.models:
                (folder / "models").symlink_to(arguments.models.absolute())
            _engram(folder, "vectors", "on", arguments.embedder)  # fetches the model, and what runs it
            _fill(folder, words, count)
            seconds, processor, memory = _engram(folder, "vectors", "on", arguments.embedder, "--wait")
            rates = f"{count / seconds:>11.1f}{count / processor:>25.1f}{seconds:>9.1f}"
            print(f"{count:>6} {name} ({words[0]}-{words[1]} words){rates:>54}{memory / 1024:>6.0f} MB", flush=True)
    return 0


def _fill(folder: Path, words: tuple[int, int], count: int) -> None:
    """Import as many memories of random words."""
    from engram_py.app import Engram
    from engram_py.base.settings import Settings
    from engram_py.memory.observations.values import Draft

    chance = random.Random(1)
    vocabulary = gzip.decompress(Path(embedders.__file__).with_name("wordpiece.txt.gz").read_bytes()).decode().split()
    known = [word for word in vocabulary if word.isalpha() and len(word) > 2][:8_000]
    with Engram(settings=Settings(folder), directory=folder, project="bench") as app:
        for number in range(count):
            text = " ".join(chance.choice(known) for _ in range(chance.randint(*words)))
            app.observations.save(Draft(type="note", title=f"Note {number}", content=text))


def _engram(folder: Path, *words: str) -> tuple[float, float, int]:
    """Run a command. Return its seconds by the clock, those of the processor, and its memory at most, in kB."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
    command: Sequence[str] = (sys.executable, "-m", "engram_py", "--data-dir", str(folder), *words, "--json")
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, env=environ)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(json.loads(said)["message"])
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss


if __name__ == "__main__":
    sys.exit(main())
