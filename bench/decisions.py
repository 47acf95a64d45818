"""``python -m bench.decisions``: does the answer hold the decision?

Asks the decision records (``adr``) what their questions ask, through ``mem_search`` of an ``engram mcp`` with default
arguments, and prints what share of a record's deciding words is in the text of the answer and how long that is.

Questions fall into two halves by a hash of their text: one to build on, one to report.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench import memories
from bench.datasets import Dataset, Question, data_folder, load
from bench.scoring import recall
from bench.wire import Server, engram_command, text_of
from bench.workplace import git
from engram_py.base.text.words import ENGLISH, segments

DECIDING = 10  # words of a decision
CHARS_A_TOKEN = 4
_HEADING = re.compile(r"(?m)^(#+)[ \t]*(.+?)[ \t#]*$")
# The set's records call the part so; the product knows none of these names.
_DECISION = re.compile(r"(?i)\b(?:decision(?! (?:drivers|makers|log))|proposal|proposed\b)")
_LINK = re.compile(r"(?m)^\[[^\]]+\]:.*$|\]\([^)]*\)|https?://\S+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its answer: the text, and what the same search says as JSON."""

    question: Question
    text: str
    found: Mapping[str, Any]

    @property
    def hits(self) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = self.found["results"]
        return found


def half(question: Question) -> str:
    """``build`` or ``report``, the same in every run."""
    return "report" if sha256(question.text.encode()).digest()[0] % 2 else "build"


def decision_part(content: str) -> str:
    """The text below the heading that names the decision, until one that is not below that; empty without one."""
    headings = list(_HEADING.finditer(content))
    for at, heading in enumerate(headings):
        if _DECISION.search(heading[2]):
            end = next((one.start() for one in headings[at + 1 :] if len(one[1]) <= len(heading[1])), len(content))
            return content[heading.end() : end]
    return ""


def deciding_words(part: str, rows: Mapping[str, int], *, without: Sequence[str] = ()) -> list[str]:
    """The rarest content words of a part against the set, links left out; of equal ones what it says more often or
    first. What the question says itself (``without``) decides nothing."""
    counts = Counter(_words(_LINK.sub("] ", part)))
    telling = [word for word in counts if word not in without]
    return sorted(telling, key=lambda word: (rows.get(word, 0), -counts[word]))[:DECIDING]


def _words(text: str) -> Iterator[str]:
    return (word for word in segments(text.lower()) if len(word) > 2 and word.isalpha() and word not in ENGLISH)


def main() -> int:
    arguments = _arguments()
    memories.without_settings()
    with tempfile.TemporaryDirectory(prefix="engram-decisions-") as name:
        room = Path(name).resolve()
        (folder := room / "here").mkdir()
        git(folder, "init", "--quiet")
        halves = ("build", "report") if arguments.half == "both" else (arguments.half,)
        lines = _decisions(room, folder, arguments, halves)
    print("\n".join(lines))
    return 0


def _decisions(room: Path, folder: Path, arguments: argparse.Namespace, halves: Sequence[str]) -> list[str]:
    dataset = load("adr", data_folder())
    with asking(room, folder, dataset, arguments.keep) as ask:
        asked = [ask(question, dataset.name) for question in dataset.questions]
    if arguments.answers:
        _write(arguments.answers, asked)
    some = {name: [one for one in asked if half(one.question) == name] for name in halves}
    return [line for name in halves for line in (f"{name} half", *decisions_lines(dataset, some[name]))]


def decisions_lines(dataset: Dataset, answers: Sequence[Asked]) -> Iterator[str]:
    """The share of deciding words in the answers, all of them and those with the record on top, and their length."""
    contents = {memory.key: memory for memory in dataset.memories}
    rows = Counter(word for memory in dataset.memories for word in set(_words(f"{memory.title} {memory.content}")))
    shares, topped, lengths, found = [], [], [], []
    for one in answers:
        said = set(_words(one.text))
        asked = set(_words(one.question.text))
        parts = [decision_part(contents[key].content) for key in one.question.gold]
        wanted = [words for part in parts if (words := deciding_words(part, rows, without=list(asked)))]
        lengths.append(len(one.text) / CHARS_A_TOKEN)
        found.append(recall([hit["sync_id"] for hit in one.hits], _gold(one), 5))
        if wanted:
            share = max(len(said.intersection(words)) / len(words) for words in wanted)
            shares.append(share)
            top = one.hits[0]["sync_id"] if one.hits else ""
            topped += [share] if top in map(memories.sync_id, one.question.gold) else []
    yield (
        f"  deciding words: {statistics.fmean(shares):.1%} in the answer ({len(shares)} questions),"
        f" {statistics.fmean(topped):.1%} where the record is on top ({len(topped)});"
        f" tokens: mean {statistics.fmean(lengths):.0f}, most {max(lengths):.0f};"
        f" recall@5 {statistics.fmean(found):.3f}"
    )


def _gold(one: Asked) -> set[str]:
    return {memories.sync_id(key) for key in one.question.gold}


@contextmanager
def asking(room: Path, folder: Path, dataset: Dataset, keep: Path | None) -> Iterator[Any]:
    """A function that asks a server over a memory of the set by itself."""
    data_dir = room / dataset.name
    memories.imported(data_dir, folder, dataset, keep=keep)
    with Server(engram_command("mcp"), data_dir=data_dir, folder=folder) as server:
        server.initialize()

        def ask(question: Question, project: str) -> Asked:
            text, _ = server.try_call("mem_search", query=question.text, project=project)
            found, _ = server.try_call("mem_search", query=question.text, project=project, response_format="json")
            values = json.loads(text_of(found)) if not found.get("isError") else {"results": []}
            return Asked(question, text_of(text), values)

        yield ask


def _write(file: Path, answers: Sequence[Asked]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for one in answers:
            values = {"question": one.question.text, "gold": one.question.gold, "half": half(one.question)}
            lines.write(json.dumps(values | {"text": one.text}, ensure_ascii=False) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.decisions", description="Measure what answers hold.")
    parser.add_argument("--half", choices=("build", "report", "both"), default="both", help="which questions count")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the imported memories there for the next run")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="write each answer, outside the project")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
