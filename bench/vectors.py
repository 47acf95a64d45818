"""``python -m bench.vectors sentence``: what vectors add to the development sets, through the product's own search.

Prints, for each set, Recall@5 of the search by words, of the nearest vectors alone, and of both together; by how much
both are above the better of the two, and above words with the interval of 95 % (bootstrap over questions). Embedding
the sets takes half an hour on two processors: ``--cache`` keeps the vectors of texts for the next run, ``--keep`` the
imported memories. ``sentence`` and ``static`` are fetched into the folder of the cache.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import memories
from bench.datasets import LOADERS, NINE, Dataset, NoDataError, Question, data_folder, load
from bench.keeping import copied
from bench.report import percentile
from bench.scoring import DEPTH, interval, recall
from bench.workplace import git
from engram_py.app import Engram
from engram_py.base.settings import Settings
from engram_py.recall.vectors.model import LANES, fetch, load_embedder
from engram_py.recall.vectors.protocol import Embedder, Spec
from engram_py.recall.vectors.vectors import Vectors

if TYPE_CHECKING:
    from engram_py.recall.vectors.protocol import Vectors as Rows

Ask = Callable[[Question, str], Sequence[str]]
CONVERSATIONS = ("locomo-turns", "locomo-sessions")
_PROGRESS_SECONDS = 30.0


class Remembering:
    """Asks ``inner`` for what is not in the file yet."""

    def __init__(self, inner: Embedder, name: str, file: Path) -> None:
        self._inner, self._name = inner, name
        self._lock = threading.Lock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("create table if not exists vectors (key text primary key, vector blob not null)")

    def passages(self, texts: Sequence[str]) -> Rows:
        return self._all("passage", texts, self._inner.passages)

    def question(self, text: str) -> Rows:
        return self._all("question", [text], lambda asked: self._inner.question(asked[0]))

    def _all(self, kind: str, texts: Sequence[str], compute: Callable[[Sequence[str]], Rows]) -> Rows:
        import numpy as np

        with self._lock:
            keys = [hashlib.sha256(f"{self._name}\0{kind}\0{text}".encode()).hexdigest() for text in texts]
            rows = [self._db.execute("select vector from vectors where key = ?", (key,)).fetchone() for key in keys]
            known = {key: np.frombuffer(row[0], np.float32) for key, row in zip(keys, rows, strict=True) if row}
            new = [place for place, key in enumerate(keys) if key not in known]
            if new:
                for place, vector in zip(new, compute([texts[place] for place in new]), strict=True):
                    known[keys[place]] = vector
                    self._db.execute("insert or replace into vectors values (?, ?)", (keys[place], vector.tobytes()))
            return np.stack([known[key] for key in keys])


def main() -> int:
    arguments = _arguments()
    memories.without_settings()
    if arguments.embedder in LANES:
        fetch(LANES[arguments.embedder], arguments.cache.parent)
    with tempfile.TemporaryDirectory(prefix="engram-vectors-") as name:
        room = Path(name).resolve()
        (room / "here").mkdir()
        git(room / "here", "init", "--quiet")
        head = ("words", "vectors", "both", "- better", "- words")
        print(f"{'Recall@5':18}{''.join(f'{one:>9}' for one in head)}{'ms p50 / p95':>34}", flush=True)
        try:
            for one in arguments.sets:
                measure(load(one, data_folder()), arguments, room)
        except NoDataError as exc:
            print(exc, file=sys.stderr)
            return 2
    return 0


def measure(dataset: Dataset, arguments: argparse.Namespace, room: Path) -> None:
    """Fill a memory, compute its vectors, ask every question three ways, and print the line of the set."""
    data_dir = room / dataset.name
    names = memories.imported(data_dir, room / "here", dataset, keep=arguments.keep)
    with opened(data_dir, room / "here", arguments) as app:
        _compute(app, dataset.name)
    other = copied(data_dir, room / f"{dataset.name}-words")  # a search counts what it shows, which ranks the next
    with opened(data_dir, room / "here", arguments) as both, opened(other, room / "here") as plain:
        keys = {row["id"]: names[row["sync_id"]] for row in both.store.rows("select id, sync_id from observations")}
        times: list[float] = []
        ways = (_searching(plain, keys, []), _nearest(both, keys), _searching(both, keys, times))
        some = list(dataset.questions)
        if arguments.limit and len(some) > arguments.limit:
            some = random.Random(1).sample(some, arguments.limit)
        found = [[recall(ask(one, one.project), one.gold, 5) for one in some] for ask in ways]
        _line(dataset.name, found, f"{percentile(times, 50):.1f} / {percentile(times, 95):.1f}")
        parts = sorted({question.part for question in some} - {""}) if arguments.parts else []
        for part in parts:
            own = [place for place, question in enumerate(some) if question.part == part]
            _line(f"  {part}", [[way[place] for place in own] for way in found], "")
        if dataset.name in CONVERSATIONS and arguments.parts:
            _foreign(dataset, ways[0], ways[2])


def _line(name: str, found: Sequence[Sequence[float]], times: str) -> None:
    words, nearest, both = (sum(one) / len(one) for one in found)
    more = [after - before for before, after in zip(found[0], found[2], strict=True)]
    low, high = interval(more)
    spread = f"[{low:+.3f}, {high:+.3f}]"
    figures = f"{words:>9.3f}{nearest:>9.3f}{both:>9.3f}{both - max(words, nearest):>+9.3f}{both - words:>+9.3f}"
    print(f"{name:18}{figures} {spread:>18}{times:>16}", flush=True)


@contextmanager
def opened(data_dir: Path, folder: Path, arguments: argparse.Namespace | None = None) -> Iterator[Engram]:
    """The memory, with the embedder that was asked for or without one."""
    settings = Settings(data_dir)
    with Engram(settings=replace(settings, embedder=arguments.embedder if arguments else ""), directory=folder) as app:
        if arguments:

            def loaded(spec: Spec, **options: Any) -> Embedder:
                inner = load_embedder(spec, **(options | {"models": arguments.cache.parent}))
                return Remembering(inner, spec.name, arguments.cache)

            app.__dict__["vectors"] = Vectors(app.store, settings.clock, embedder=arguments.embedder, load=loaded)
        yield app


def _compute(app: Engram, name: str) -> None:
    told = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > _PROGRESS_SECONDS:
            told = time.monotonic()
            print(f"{name}: {done:,} of {total:,} ...", file=sys.stderr, flush=True)

    made = app.vectors.compute(progress=progress)
    print(f"{name}: {made.passages:,} passages in {made.seconds:.0f} s", file=sys.stderr)


def _searching(app: Engram, keys: dict[int, str], times: list[float]) -> Ask:
    def ask(question: Question, project: str) -> Sequence[str]:
        started = time.perf_counter()
        found = app.searches.search(question.text, project=project, limit=DEPTH)
        times.append((time.perf_counter() - started) * 1000)
        return [keys[hit.id] for hit in found.results]

    return ask


def _nearest(app: Engram, keys: dict[int, str]) -> Ask:
    def ask(question: Question, project: str) -> Sequence[str]:
        near = app.vectors.nearest(question.text, within=(project,), limit=DEPTH)
        if near.note:
            raise SystemExit(near.note)
        return [keys[row] for row, _ in near.hits]

    return ask


def _foreign(dataset: Dataset, plain: Ask, both: Ask) -> None:
    asked = [*dataset.questions, *dataset.apart]
    strange = [(one, project) for one in asked for project in dataset.projects if project != one.project]
    for name, ask in (("words", plain), ("both", both)):
        kept = sum(bool(ask(one, one.project)) for one in asked) / len(asked)
        answered = sum(bool(ask(one, project)) for one, project in strange) / len(strange)
        print(f"  {name}: {answered:.1%} of foreign questions answered, {kept:.1%} of its own", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.vectors", description="Measure what vectors add.")
    parser.add_argument("embedder", help="sentence, static, or as ENGRAM_EMBEDDER")
    known = [name for name in NINE if name in LOADERS]
    parser.add_argument("--sets", type=lambda text: text.split(","), default=known, help=", ".join(LOADERS))
    parser.add_argument("--limit", type=int, help="ask so many questions of each set, drawn evenly")
    parser.add_argument("--parts", action="store_true", help="also by category, and what is foreign")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep the vectors of texts there")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the imported memories there")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sets if name not in LOADERS]
    if unknown:
        parser.error(f"no set {', '.join(unknown)}; there are {', '.join(LOADERS)}")
    if arguments.cache is None:
        arguments.cache = Path(tempfile.gettempdir()) / "engram-bench-vectors" / "cache.db"
    arguments.cache = arguments.cache.absolute()
    arguments.cache.parent.mkdir(parents=True, exist_ok=True)
    return arguments


if __name__ == "__main__":
    sys.exit(main())
