"""``python -m bench.ablate``: what each part of the ranking is worth, measured by taking it out.

Asks ten sets in this process, once with the whole ranking and once without each part, and prints the difference in
recall at 5 with a 95 % bootstrap interval over questions (a star where it excludes 0). A part stays that loses on two
sets or more when it is taken out, or that tests of its own hold. ``plain`` is a plain OR: FTS5's bm25() over the words
that are no stop words, nothing else.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from bench import memories
from bench.asking import asker
from bench.datasets import NINE, Dataset, Question, data_folder, load
from bench.scoring import interval, recall, some
from bench.workplace import git
from engram_py import Engram
from engram_py.recall import hits, retrieval, score
from engram_py.recall.query import Query, match_any, parse_query

Part = tuple[tuple[Any, str, Any], ...]


def _unweighed(_store: object, terms: list[score.Term], *_: object, **__: object) -> list[score.Term]:
    return terms


PARTS: dict[str, Part] = {
    "title weight": ((score, "TITLE", 0.0),),
    "b .65, not .75": ((score, "B", 0.75),),
    "neighbours": ((score, "AFTER", 0.0), (score, "SECOND", 0.0), (score, "BEFORE", 0.0)),
    "session": ((score, "SESSION", 0.0),),
    "best passage": ((score, "WHOLE", 1e6),),
    "whole text": ((score, "WHOLE", 0.0),),
    "ordinary words": ((score, "BACKGROUND", 0.0),),
    "days": ((retrieval, "with_dates", _unweighed),),
    "files": ((retrieval, "with_files", _unweighed),),
    "near spelling": ((retrieval, "_MOST_SUBSTITUTED", 0),),
    "near duplicates": (("engram_py.recall.hits", "SAME", 2.0),),
    "factors": ((hits, "RECENCY", 0.0), (hits, "USE", 0.0)),
}
PLAIN = "select rowid from observations_fts where observations_fts match ? order by bm25(observations_fts) limit ?"


def main() -> int:
    arguments = _arguments()
    memories.without_settings()
    with tempfile.TemporaryDirectory(prefix="engram-ablate-") as name:
        room = Path(name).resolve()
        (folder := room / "here").mkdir()
        git(folder, "init", "--quiet")
        table = {one: _measured(one, room, folder, arguments) for one in arguments.sets}
    print("\n".join(_lines(table)))
    return 0


def _measured(name: str, room: Path, folder: Path, arguments: argparse.Namespace) -> dict[str, list[float]]:
    dataset = load(name, data_folder())
    data_dir = room / name
    keys = memories.imported(data_dir, folder, dataset, keep=arguments.keep)
    questions = some(dataset.questions, arguments.limit)
    found: dict[str, list[float]] = {}
    with asker(data_dir, folder, keys, in_process=True) as who:

        def asked() -> list[float]:
            answers = [who.ask(question, question.project) for question in questions]
            return [recall(one.keys, one.question.gold, 5) for one in answers]

        found["whole"] = asked()
        for part, patches in PARTS.items():
            with _without(patches):
                found[part] = asked()
    found["plain"] = _plain(data_dir, folder, keys, questions, dataset)
    print(f"{name}: {statistics.fmean(found['whole']):.3f}", file=sys.stderr, flush=True)
    return found


def _plain(
    data_dir: Path, folder: Path, keys: dict[str, str], questions: Sequence[Question], dataset: Dataset
) -> list[float]:
    projects = {memory.key: memory.project for memory in dataset.memories}
    with Engram(data_dir, directory=folder) as app, app.store.connection() as connection:
        names = {row[0]: keys.get(row[1], "") for row in connection.execute("select id, sync_id from observations")}
        shares = []
        for question in questions:
            rows = connection.execute(PLAIN, (_words(parse_query(question.text)), 5 * len(dataset.projects) ** 2))
            own = [names[row[0]] for row in rows if projects.get(names[row[0]]) == question.project]
            shares.append(recall(own, question.gold, 5))
    return shares


def _words(query: Query) -> str:
    return match_any(query.content_words) or '""'


@contextmanager
def _without(patches: Part) -> Iterator[None]:
    with ExitStack() as stack:
        for where, name, value in patches:
            target = f"{where}.{name}" if isinstance(where, str) else f"{where.__name__}.{name}"
            stack.enter_context(mock.patch(target, value))
        yield


def _lines(table: dict[str, dict[str, list[float]]]) -> Iterator[str]:
    yield "| taken out | " + " | ".join(table) + " |"
    yield "| --- |" + " --- |" * len(table)
    for part in ("whole", "plain", *PARTS):
        cells = [_cell(part, found) for found in table.values()]
        yield f"| {part} | " + " | ".join(cells) + " |"


def _cell(part: str, found: dict[str, list[float]]) -> str:
    if part in ("whole", "plain"):
        return f"{statistics.fmean(found[part]):.3f}"
    changes = [one - other for one, other in zip(found[part], found["whole"], strict=True)]
    low, high = interval(changes)
    return f"{statistics.fmean(changes):+.3f}{'*' if low > 0 or high < 0 else ''}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.ablate", description="Measure each part of the ranking.")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=(*NINE, "beam"))
    parser.add_argument("--limit", type=int, metavar="N", help="ask N questions of each set, evenly spread")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the imported memories there for the next run")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.pop("ENGRAM_EMBEDDER", None)
    sys.exit(main())
