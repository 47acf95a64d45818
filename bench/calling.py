"""What a call costs: saves, searches in a large memory, and eight processes saving at once."""

from __future__ import annotations

import json
import sqlite3
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from bench.corpus import Note
from bench.filling import fill
from bench.report import OVER, WITHIN, Line, above, ratio, seconds
from bench.starting import PLAIN, process_seconds
from bench.wire import Server, text_of
from bench.workplace import Workplace
from engram_py import Engram

SAVE_RATIO = 2.0
# Of a process that imports sqlite3 and json: 15 ms on the machine of 23 November 2026, where that took 21.
SEARCH_RATIO = 0.7
PROCESSES, SAVES = 8, 200
_SECTIONS = 20
_PROCESSES_TIMED = 15


def save(place: Workplace) -> list[Line]:
    """``mem_save`` over stdio against an empty call over stdio and one row committed in this process."""
    ours: list[float] = []
    empty: list[float] = []
    commit: list[float] = []
    rounds = place.rounds(400, 150)
    with (
        place.engram("save") as server,
        place.one_tool() as other,
        closing(_plain_database(place.root / "plain.db")) as plain,
    ):
        server.initialize()
        other.initialize()
        for turn, note in enumerate(place.corpus.many(rounds + 10)):
            saved = server.call("mem_save", title=note.title[:500], content=note.content)[1]
            times = saved, other.call("ping")[1], _commit_seconds(plain, note.content)
            if turn >= 10:  # the first opens the database
                for into, elapsed in zip((ours, empty, commit), times, strict=True):
                    into.append(elapsed)
    both = [call + row for call, row in zip(empty, commit, strict=True)]
    line = ratio(f"mem_save over stdio, median of {rounds}", ours, both, at_most=SAVE_RATIO)
    parts = {"empty_call_s": statistics.median(empty), "commit_s": statistics.median(commit)}
    return [replace(line, numbers={**line.numbers, **parts})]


def _plain_database(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    connection.execute("create table notes (id integer primary key, content text not null) strict")
    return connection


def _commit_seconds(connection: sqlite3.Connection, content: str) -> float:
    started = time.perf_counter()
    connection.execute("begin immediate")
    connection.execute("insert into notes (content) values (?)", (content,))
    connection.execute("commit")
    return time.perf_counter() - started


def large(place: Workplace) -> list[Line]:
    """Searches in a memory of many observations, each beside an empty call; then the other calls there."""
    started = time.perf_counter()
    count = fill(place.data_dir("large"), place.folder, place.corpus.many(place.rows - 1))
    filled = time.perf_counter() - started
    size = (place.data_dir("large") / "engram.db").stat().st_size
    queries = place.corpus.queries(place.rounds(400, 150))
    times: dict[str, list[float]] = {"subject": [], "question": []}
    empty: dict[str, list[float]] = {"subject": [], "question": []}
    process = processes(place)
    with place.engram("large") as server, place.one_tool() as other:
        server.initialize()
        other.initialize()
        for _, query in queries[:10]:
            server.call("mem_search", query=query)
            other.call("ping")
        for kind, query in queries:
            times[kind].append(server.call("mem_search", query=query)[1])
            empty[kind].append(other.call("ping")[1])
        process += processes(place)
        others = _others(place, server, other)
    name = f"at {count:,} observations"
    everything = [*times["subject"], *times["question"]], [*empty["subject"], *empty["question"]]
    return [
        above(f"mem_search over stdio {name}", *everything, at_most=SEARCH_RATIO, unit=process),
        *(above(f"  of which {kind}s", times[kind], empty[kind]) for kind in times),
        *(above(f"{tool} {name}", *pair) for tool, pair in others.items()),
        Line(
            f"  filled by SQL from {place.corpus.source}",
            f"{(count - 1) / filled:,.0f} rows/s",
            "",
            f"{size / 1e6:.0f} MB",
        ),
    ]


def documents(place: Workplace) -> list[Line]:
    """Index as many passages as there are memories, and search both at once, each search beside an empty call."""
    data_dir = place.data_dir("documents")
    fill(data_dir, place.folder, place.corpus.many(place.rows))
    before = (data_dir / "engram.db").stat().st_size
    pages = place.root / "pages"
    pages.mkdir()
    for number, notes in enumerate(_batches(place.corpus.many(place.rows))):
        text = "\n\n".join(f"## {note.title}\n\n{note.content.replace('#', '')}" for note in notes)
        (pages / f"{number}.md").write_text(text + "\n", encoding="utf-8")
    started = time.perf_counter()
    with Engram(data_dir, directory=place.folder) as app:
        app.documents.add(str(pages))
        indexed = time.perf_counter() - started
        passages = int(app.store.value("select count(*) from passages"))
        size = app.store.path.stat().st_size - before
    times, empty, process = [], [], processes(place)
    with place.engram("documents") as server, place.one_tool() as other:
        server.initialize()
        other.initialize()
        for turn, (_, query) in enumerate(place.corpus.queries(place.rounds(400, 150))):
            pair = server.call("mem_search", query=query)[1], other.call("ping")[1]
            if turn >= 10:
                times.append(pair[0])
                empty.append(pair[1])
    process += processes(place)
    name = f"mem_search over stdio at {place.rows:,} observations and {passages:,} passages"
    cost = f"{indexed * 10_000 / passages:.1f} s and {size * 10_000 / passages / 1e6:.0f} MB for 10,000"
    return [above(name, times, empty, at_most=SEARCH_RATIO, unit=process), Line("  indexed", cost)]


def processes(place: Workplace) -> list[float]:
    """The seconds that each of some processes takes which import sqlite3 and json."""
    return [process_seconds(PLAIN, place) for _ in range(_PROCESSES_TIMED)]


def _batches(notes: Iterator[Note]) -> Iterator[list[Note]]:
    while batch := list(islice(notes, _SECTIONS)):
        yield batch


def _others(place: Workplace, server: Server, other: Server) -> dict[str, tuple[list[float], list[float]]]:
    rounds = place.rounds(100, 30)
    times: dict[str, tuple[list[float], list[float]]] = {}
    for turn, note in enumerate(place.corpus.notes[-rounds:]):
        calls: tuple[tuple[str, dict[str, Any]], ...] = (
            ("mem_save", {"title": f"{note.title[:480]} ({turn})", "content": f"{note.content}\n{turn}"}),
            ("mem_context", {}),
            ("mem_get_observation", {"id": turn * 37 % place.rows + 1}),
        )
        for tool, arguments in calls:
            ours, empty = times.setdefault(tool, ([], []))
            ours.append(server.call(tool, **arguments)[1])
            empty.append(other.call("ping")[1])
    return times


def crowd(place: Workplace) -> list[Line]:
    """Eight servers on one new file, 200 saves each, all at once; beside it as many bare commits by one process."""
    took, kept, errors = _at_once([place.engram("crowd") for _ in range(PROCESSES)])
    total = PROCESSES * SAVES
    with closing(_plain_database(place.root / "crowd.db")) as plain:
        bare = sum(_commit_seconds(plain, _crowd_note(0, turn)["content"]) for turn in range(total))
    with closing(sqlite3.connect(place.data_dir("crowd") / "engram.db")) as database:
        stored = {row[0] for row in database.execute("select id from observations")}
        whole = database.execute("pragma integrity_check").fetchone()[0] == "ok"
    lost = len(set(kept) - stored) + (len(kept) - len(set(kept)))
    fine = not lost and not errors and whole and len(stored) == total
    compared = f"{lost} lost, {len(errors)} errors" + ("" if whole else ", damaged")
    if errors:
        compared += f" ({errors[0][:80]})"
    return [
        Line(
            f"{PROCESSES} processes x {SAVES} saves at once, on a new file",
            f"{total / took:,.0f} saves/s ({seconds(took)})",
            f"{total / bare:,.0f} commits/s",
            compared,
            "0 lost, 0 errors",
            WITHIN if fine else OVER,
            numbers={"seconds": took, "bare_s": bare, "lost": lost, "errors": len(errors), "rows": len(stored)},
        )
    ]


def _at_once(servers: list[Server]) -> tuple[float, list[int], list[str]]:
    """The seconds until all were answered, the ids of what was acknowledged, and the refusals."""
    kept: list[int] = []
    errors: list[str] = []
    ready = threading.Barrier(len(servers) + 1)

    def work(number: int, server: Server) -> None:
        ready.wait()
        for turn in range(SAVES):
            result, _ = server.try_call("mem_save", **_crowd_note(number, turn))
            if result.get("isError"):
                errors.append(text_of(result))
            else:
                kept.append(json.loads(text_of(result))["id"])

    with ExitStack() as stack:
        for server in servers:
            stack.enter_context(server).initialize()
        threads = [threading.Thread(target=work, args=pair) for pair in enumerate(servers)]
        for thread in threads:
            thread.start()
        ready.wait()
        started = time.perf_counter()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started, kept, errors


def _crowd_note(number: int, turn: int) -> dict[str, str]:
    content = f"**What**: process {number} saved its note {turn}.\n**Why**: eight agents share one memory."
    return {"title": f"Fixed widget {number}-{turn}", "content": content, "response_format": "json"}
