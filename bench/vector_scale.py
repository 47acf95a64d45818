"""``python -m bench.vector_scale``: what a search by vectors costs as the memory grows.

Beside the product's own index (bits in memory, the nearest thousand read whole): a product of one matrix of floats with
the question, and sqlite-vec where it is installed and this Python can load extensions. The vectors are random, which
says what things cost, not what they find.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]

from bench.report import percentile
from engram_py.base.database.store import Store
from engram_py.recall.vectors import table
from engram_py.recall.vectors.index import VectorIndex, VectorView
from engram_py.recall.vectors.protocol import pack, unit
from engram_py.recall.vectors.table import MEMORIES

DIMENSION = 384
SIZES = (10_000, 100_000, 1_000_000)
NOW = "2026-01-02T03:04:05.678Z"
_BLOCK = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.vector_scale", description="Measure search by vectors.")
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES, help="sizes of the memory")
    parser.add_argument("--only", action="store_true", help="the product alone, without what it is compared with")
    arguments = parser.parse_args()
    print(f"{'rows':>10}  {'':34}{'ms p50':>8}{'p95':>8}{'memory':>10}")
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(prefix="engram-vector-scale-") as name:
            measure_product(Path(name), rows)
            if not arguments.only:
                measure_matrix(rows)
                measure_sqlite_vec(Path(name), rows)
    return 0


def vectors(rows: int) -> Iterator[Any]:
    """Blocks of random unit vectors, the same in every run."""
    for block in range(0, rows, _BLOCK):
        yield unit(np.random.default_rng(block).standard_normal((min(_BLOCK, rows - block), DIMENSION)))


def questions() -> list[Any]:
    return [unit(np.random.default_rng(number).standard_normal((1, DIMENSION))) for number in range(40)]


def measure_product(folder: Path, rows: int) -> None:
    store = Store.open(folder)
    fill(store, rows)
    memory = psutil.Process().memory_info
    before = memory().rss
    started = time.perf_counter()
    index = VectorIndex(store, MEMORIES, 1, DIMENSION)
    index.refresh()
    line(rows, "engram: read in at start", [(time.perf_counter() - started) * 1000], memory().rss - before)
    for name, view in (
        ("engram: the whole memory", VectorView()),
        ("engram: a project of half of it", VectorView(within=("large",))),
        ("engram: a project of 500", VectorView(within=("small",))),
    ):
        line(rows, name, timed(partial(_near, index, view)))
    store.close()


def _near(index: VectorIndex, view: VectorView, question: Any) -> object:
    return index.near(question, view, limit=60)


def fill(store: Store, rows: int) -> None:
    """Observations of three projects, and a vector for each."""
    with store.transaction():
        session = {"id": "s", "project": "large", "started_at": NOW, "updated_at": NOW, "clock": "0"}
        store.insert("sessions", session)
        table.add_embedder(store, name="bench", dimension=DIMENSION, probe=b"", now=NOW)
    number = 0
    for block in vectors(rows):
        with store.transaction():
            for vector in block:
                number += 1
                project = "small" if number % max(1, rows // 500) == 0 else ("large", "other")[number % 2]
                store.insert("observations", {
                    "sync_id": f"obs-{number:016x}", "session_id": "s", "project": project, "title": f"Note {number}",
                    "content": "text", "content_hash": "", "created_at": NOW, "updated_at": NOW, "clock": "0",
                })  # fmt: skip
                table.put(store, MEMORIES, embedder_id=1, id=number, text_hash="", vectors=pack(vector[None]))


def measure_matrix(rows: int) -> None:
    matrix = np.empty((rows, DIMENSION), np.float32)
    place = 0
    for block in vectors(rows):
        matrix[place : place + len(block)] = block
        place += len(block)
    line(rows, "one matrix of floats", timed(lambda one: np.argpartition(-(matrix @ one[0]), 60)[:60]), matrix.nbytes)


def measure_sqlite_vec(folder: Path, rows: int) -> None:
    try:
        import sqlite_vec

        db = sqlite3.connect(folder / "vec.db", isolation_level=None)
        db.enable_load_extension(True)
        sqlite_vec.load(db)
    except (ImportError, AttributeError, sqlite3.Error) as exc:
        print(f"{rows:>10,}  sqlite-vec: not here ({exc})")
        return
    for kind, wrapped, most in (("int8", "vec_int8(?)", 60), ("bit", "vec_bit(?)", 60), ("bit", "vec_bit(?)", 1_000)):
        db.execute("drop table if exists v")
        db.execute(f"create virtual table v using vec0(e {kind}[{DIMENSION}])")
        db.execute("begin")
        number = 0
        for block in vectors(rows):
            for blob in coded(block, kind):
                number += 1
                db.execute(f"insert into v (rowid, e) values (?, {wrapped})", (number, blob))
        db.execute("commit")
        ask = f"select rowid from v where e match {wrapped} and k = {most} order by distance"
        answer = partial(_ask, db, ask, kind)
        line(rows, f"sqlite-vec: {kind}, {most} nearest", timed(answer, 10))
    db.close()


def _ask(db: sqlite3.Connection, sql: str, kind: str, question: Any) -> list[Any]:
    return db.execute(sql, (next(coded(question, kind)),)).fetchall()


def coded(rows: Any, kind: str) -> Iterator[bytes]:
    for row in rows:
        yield pack(row[None]) if kind == "int8" else np.packbits(row > 0).tobytes()


def timed(work: Callable[[Any], object], times: int = 40) -> list[float]:
    """Milliseconds of each question."""
    work(questions()[0])
    found = []
    for question in questions()[:times]:
        started = time.perf_counter()
        work(question)
        found.append((time.perf_counter() - started) * 1000)
    return found


def line(rows: int, what: str, milliseconds: list[float], memory: int = 0) -> None:
    held = f"{memory / 1e6:,.0f} MB" if memory else ""
    figures = f"{percentile(milliseconds, 50):>8,.1f}{percentile(milliseconds, 95):>8,.1f}"
    print(f"{rows:>10,}  {what:34}{figures}{held:>10}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
