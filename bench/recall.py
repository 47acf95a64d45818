"""``python -m bench.recall``: does a question find its answer, and does a foreign one find nothing?

Runs the development sets through ``engram import`` and ``engram mcp`` with default settings, and compares with the
committed last result (``recall.json``) and with the targets.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import memories
from bench.asking import Asker, asker
from bench.datasets import LOADERS, Dataset, NoDataError, Question, data_folder, load
from bench.keeping import ROOT
from bench.scoring import Answer, answered, by_part, figures, some
from bench.verdicts import COMMITTED, judge, lines_of, read_committed
from bench.workplace import git

FOREIGN = "foreign"
CONVERSATIONS = ("locomo-turns", "locomo-sessions")
SETS = (*LOADERS, FOREIGN)
Figures = dict[str, float]


@dataclass(frozen=True)
class Run:
    """What one invocation asks, and how. ``room`` is where its folders and copies stand."""

    sets: Sequence[str]
    limit: int | None
    in_process: bool
    by_save: bool
    keep: Path | None
    room: Path

    @property
    def folder(self) -> Path:
        return self.room / "here"


def main() -> int:
    arguments = _arguments()
    memories.without_settings()
    os.environ.update(arguments.setting)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="engram-recall-") as name:
        room = Path(name).resolve()
        run = Run(arguments.sets, arguments.limit, arguments.in_process, arguments.by == "save", arguments.keep, room)
        run.folder.mkdir()
        git(run.folder, "init", "--quiet")
        try:
            measured, answers = measure(run)
        except NoDataError as exc:
            print(exc, file=sys.stderr)
            return 2
    committed = read_committed(arguments.against)
    verdicts = [] if arguments.limit else judge(measured, committed)
    lines = table_of(measured) if arguments.table else lines_of(measured, {} if arguments.limit else committed)
    print("\n".join(lines))
    how = "in process" if arguments.in_process else "over stdio"
    about = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {how}, saved by {arguments.by}"
    print(f"\n{about}, {time.perf_counter() - started:.0f} s")
    if arguments.json:
        _write(arguments.json, {"about": about, "sets": measured})
    if arguments.answers:
        _write_answers(arguments.answers, answers)
    if arguments.update:
        _write(arguments.against, {"about": about, "sets": committed | measured})
    for verdict in verdicts:
        print(verdict, file=sys.stderr)
    return 1 if arguments.check and verdicts else 0


# The columns of the table, and the figures of a set.
COLUMNS = {
    "R@5": "recall@5", "R@1": "recall@1", "silent": "empty", "with a passage": "quoted@5",
    "foreign answered": "foreign answered", "p50 ms": "p50_ms",
}  # fmt: skip


def table_of(measured: dict[str, Figures]) -> list[str]:
    """The figures as a table of Markdown, a set a line; what strangers are answered stands beside their set."""
    lines = [f"| set | {' | '.join(COLUMNS)} |", "| --- |" + " --- |" * len(COLUMNS)]
    for name, one in measured.items():
        if not name.startswith(FOREIGN):
            strange = measured.get(f"{FOREIGN}-{name}", {})
            told = one | ({"foreign answered": strange["answered"]} if strange else {})
            lines.append(
                f"| {name} | "
                + " | ".join(f"{told[key]:.3f}" if key in told else "–" for key in COLUMNS.values())
                + " |"
            )
    return lines


def measure(run: Run) -> tuple[dict[str, Figures], dict[str, list[Answer]]]:
    """The figures of each set, and the answers they were made of."""
    measured: dict[str, Figures] = {}
    answers: dict[str, list[Answer]] = {}
    for name in LOADERS:
        foreign = FOREIGN in run.sets and name in CONVERSATIONS
        if name not in run.sets and not foreign:
            continue
        dataset = load(name, data_folder())
        print(f"{name}: {len(dataset.memories):,} memories ...", file=sys.stderr, flush=True)
        data_dir, keys = filled(run, dataset)
        with asker(data_dir, run.folder, keys, in_process=run.in_process) as who:
            answers[name] = _asked(who, dataset.questions, run.limit)
            apart = _asked(who, dataset.apart, run.limit)
            if name in run.sets:
                measured[name] = _figures(answers[name], apart)
                if dataset.foreign:
                    measured[name]["foreign answered"] = answered(_asked(who, dataset.foreign, run.limit))
            if foreign:
                strange = _asked_elsewhere(who, dataset, run.limit)
                measured[f"{FOREIGN}-{name}"] = _foreign(strange, answers[name])
                answers[f"{FOREIGN}-{name}"] = strange
    return measured, answers


def filled(run: Run, dataset: Dataset) -> tuple[Path, dict[str, str]]:
    """A data directory of this run's own that holds the set, and the keys of its sync ids."""
    data_dir = run.room / dataset.name
    if run.by_save:
        return data_dir, memories.save_into(data_dir, run.folder, dataset)
    return data_dir, memories.imported(data_dir, run.folder, dataset, keep=run.keep)


def _asked(who: Asker, questions: Sequence[Question], limit: int | None) -> list[Answer]:
    return [who.ask(question, question.project) for question in some(questions, limit)]


def _asked_elsewhere(who: Asker, dataset: Dataset, limit: int | None) -> list[Answer]:
    """Every question, in every project it is not about."""
    everything = [*dataset.questions, *dataset.apart]
    return [
        who.ask(question, project)
        for question in some(everything, limit)
        for project in dataset.projects
        if project != question.project
    ]


def _figures(answers: Sequence[Answer], apart: Sequence[Answer]) -> Figures:
    values = figures(answers) | {f"recall@5 of {part}": value for part, value in by_part(answers).items()}
    if apart:
        adversarial = figures(apart)
        values |= {f"adversarial {name}": adversarial[name] for name in ("questions", "recall@5", "empty")}
    return values


def _foreign(strange: Sequence[Answer], own: Sequence[Answer]) -> Figures:
    return {"questions": len(strange), "answered": answered(strange), "kept": answered(own)}


def _write(file: Path, values: dict[str, object]) -> None:
    file.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _write_answers(file: Path, answers: dict[str, list[Answer]]) -> None:
    """One line per question, for tuning; for a place outside the project, as it holds the questions' text."""
    with file.open("w", encoding="utf-8") as lines:
        for name, some in answers.items():
            for one in some:
                asked = one.question
                values = {
                    "set": name, "id": asked.key, "part": asked.part, "question": asked.text, "gold": asked.gold,
                    "keys": list(one.keys), "ms": round(one.seconds * 1000, 2),
                }  # fmt: skip
                lines.write(json.dumps(values, ensure_ascii=False) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description="Measure recall on the given sets.")
    parser.add_argument("--sets", type=_names, default=SETS, help=f"comma-separated: {', '.join(SETS)}")
    parser.add_argument("--limit", type=int, metavar="N", help="ask N questions of each set, evenly spread")
    parser.add_argument("--in-process", action="store_true", help="ask app.searches.search, not a server over stdio")
    parser.add_argument("--by", choices=("import", "save"), default="import", help="how memories get there")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the imported memories there for the next run")
    parser.add_argument("--set", dest="setting", type=_setting, action="append", default=[], metavar="ENGRAM_X=Y")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write each answer, outside the project")
    parser.add_argument("--against", type=Path, default=COMMITTED, metavar="FILE", help="instead of bench/recall.json")
    parser.add_argument("--table", action="store_true", help="print the figures as a table of Markdown")
    parser.add_argument("--update", action="store_true", help="make this the result that the next runs compare with")
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure fell, or misses its target")
    arguments = parser.parse_args()
    if arguments.limit and (arguments.update or arguments.check):
        parser.error("--limit asks some of the questions: nothing to --update or --check")
    if arguments.keep and arguments.by == "save":
        parser.error("--keep holds imported memories: leave out --by save")
    if arguments.answers and arguments.answers.resolve().is_relative_to(ROOT):
        parser.error("--answers holds text of the sets, which stays out of the project: name a file elsewhere")
    return arguments


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(SETS)}")
    return names


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.startswith("ENGRAM_"):
        raise argparse.ArgumentTypeError(f"{text}: a setting is ENGRAM_NAME=value")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
