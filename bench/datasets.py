"""The development sets as memories to save and questions whose answers other people marked.

The files are read where they lie (``ENGRAM_BENCH_DATA``, else ``../shared/retrieval``; its README says what each set
is): their licences allow measuring, so no text of theirs is ever written into this project.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "retrieval"
_NAME = re.compile(r"def\s+(\w+)")
# The categories of BEAM whose questions one passage answers.
OF_ONE_PASSAGE = {
    "information_extraction", "knowledge_update", "multi_session_reasoning", "temporal_reasoning",
    "contradiction_resolution",
}  # fmt: skip
ADVERSARIAL = "5"  # LoCoMo's category of questions that the conversation does not answer


class NoDataError(Exception):
    """The folder lacks the file of a set."""


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing to save. ``created_at`` None: the set knows no time, and the moment of the import stands."""

    key: str
    project: str
    session: str
    title: str
    content: str
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """``gold`` are keys of memories; ``part`` names what is reported by itself (a category, a language)."""

    key: str
    project: str
    text: str
    gold: tuple[str, ...]
    part: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """Memories in the order they arrive. ``apart``: questions that are measured, but not with the others; ``foreign``:
    questions of the same field that no memory answers."""

    name: str
    memories: Sequence[Memory]
    questions: Sequence[Question]
    apart: Sequence[Question] = ()
    foreign: Sequence[Question] = ()

    @property
    def projects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(memory.project for memory in self.memories))


def data_folder() -> Path:
    return Path(os.environ.get("ENGRAM_BENCH_DATA") or _SHARED)


def load(name: str, folder: Path) -> Dataset:
    """The set of that name from the files in ``folder``. Raises NoDataError when its file is not there."""
    return LOADERS[name](folder)


def locomo_turns(folder: Path) -> Dataset:
    """One memory per turn: the speaker is its title, a photograph's caption the end of its content."""
    rows = _rows(folder, "locomo")
    memories, counts = [], dict[str, int]()
    for row in rows:
        if row["t"] != "turn":
            continue
        session = f"{row['conv']}-s{row['session']:02d}"
        place = counts[session] = counts.get(session, -1) + 1
        # A session has one time; its turns follow each other.
        moment = _locomo_time(row["date"]) + timedelta(seconds=20 * place)
        key = f"{row['conv']}/{row['id']}"
        memories.append(Memory(key, row["conv"], session, row["speaker"], _said(row), moment))
    return _locomo("locomo-turns", memories, rows, lambda conv, turn: f"{conv}/{turn}")


def locomo_sessions(folder: Path) -> Dataset:
    """One memory per conversation session; the evidence is the session its turn stands in."""
    rows = _rows(folder, "locomo")
    turns: dict[str, list[dict[str, Any]]] = {}
    homes: dict[tuple[str, str], str] = {}
    for row in rows:
        if row["t"] == "turn":
            key = f"{row['conv']}-s{row['session']:02d}"
            turns.setdefault(key, []).append(row)
            homes[row["conv"], row["id"]] = key
    memories = [
        Memory(
            key,
            said[0]["conv"],
            key,
            f"Session {said[0]['session']}",
            "\n".join(f"{row['speaker']}: {_said(row)}" for row in said),
            _locomo_time(said[0]["date"]),
        )
        for key, said in turns.items()
    ]
    return _locomo("locomo-sessions", memories, rows, lambda conv, turn: homes[conv, turn])


def locomo_mixed(folder: Path) -> Dataset:
    """Every second session as one memory, the others by turn, as notes stand beside long summaries in a real memory; a
    question's part says what its evidence is."""
    turns, sessions = locomo_turns(folder), locomo_sessions(folder)
    long = {memory.session: memory for memory in sessions.memories[::2]}
    memories = dict.fromkeys(long.get(turn.session, turn) for turn in turns.memories)
    homes = {turn.key: long[turn.session].key for turn in turns.memories if turn.session in long}

    def placed(question: Question) -> Question:
        gold = tuple(dict.fromkeys(homes.get(key, key) for key in question.gold))
        texts = {key in homes for key in question.gold}
        return replace(question, gold=gold, part="both" if len(texts) > 1 else "long" if True in texts else "short")

    return Dataset("locomo-mixed", list(memories), [placed(question) for question in turns.questions])


def xquad(folder: Path) -> Dataset:
    """Paragraphs without a title or a time, one project per language."""
    rows = _rows(folder, "xquad")
    memories = [
        Memory(f"{row['lang']}/{row['id']}", f"xquad-{row['lang']}", f"xquad-{row['lang']}", "", row["text"])
        for row in rows
        if row["t"] == "par"
    ]
    questions = [
        Question(row["id"], f"xquad-{row['lang']}", row["question"], (f"{row['lang']}/{row['gold']}",), row["lang"])
        for row in rows
        if row["t"] == "qa"
    ]
    return Dataset("xquad", memories, questions)


def cosqa(folder: Path) -> Dataset:
    """Functions under their own names, and what people typed into a search engine."""
    rows = _rows(folder, "cosqa")
    memories = []
    for row in rows:
        if row["t"] == "code":
            name = _NAME.search(row["code"])
            memories.append(Memory(row["id"], "cosqa", "cosqa", name[1] if name else "", row["code"]))
    questions = [Question(row["id"], "cosqa", row["question"], (row["gold"],), "") for row in rows if row["t"] == "qa"]
    return Dataset("cosqa", memories, questions)


def dpdk(folder: Path) -> Dataset:
    """Commit messages, a session per author and day; asked for by the bug fix that names them in ``Fixes:``."""
    rows = _rows(folder, "dpdk")
    memories = [
        Memory(
            row["id"],
            "dpdk",
            f"{row['author']} {row['date'][:10]}",
            row["title"],
            row["content"],
            datetime.fromisoformat(row["date"]),
        )
        for row in rows
        if row["t"] == "commit"
    ]
    questions = [
        Question(row["id"], "dpdk", row["question"], tuple(row["gold"]), row["category"])
        for row in rows
        if row["t"] == "qa"
    ]
    return Dataset("dpdk", memories, questions)


def dpdk_small(folder: Path) -> Dataset:
    """The same commits, those that a question is about in a small project beside a large one that has all others."""
    whole = dpdk(folder)
    gold = {key for question in whole.questions for key in question.gold}
    small = "dpdk-small"
    memories = [replace(one, project=small) if one.key in gold else one for one in whole.memories]
    return Dataset(small, memories, [replace(question, project=small) for question in whole.questions])


def marked(name: str) -> Callable[[Path], Dataset]:
    """The loader of a set of memories that a coding agent keeps: ``mem``, ``qa`` and ``foreign`` lines, one project."""

    def loaded(folder: Path) -> Dataset:
        rows = _rows(folder, name)
        memories = [
            Memory(
                row["id"],
                name,
                row.get("session") or name,
                row.get("title") or "",
                row["content"],
                datetime.fromisoformat(row["date"]) if row.get("date") else None,
            )
            for row in rows
            if row["t"] == "mem"
        ]
        questions = [
            Question(f"{name}-{number}", name, row["question"], tuple(row.get("gold") or ()), row.get("category") or "")
            for number, row in enumerate(rows)
            if row["t"] in ("qa", "foreign")
        ]
        own = [one for one in questions if one.gold]
        return Dataset(name, memories, own, foreign=[one for one in questions if not one.gold])

    return loaded


def beam(folder: Path) -> Dataset:
    """Turns of ten long chats about code, one project each; asked are the questions that one passage answers."""
    rows = _rows(folder, "beam")
    memories = [
        Memory(
            f"{row['project']}/{row['id']}",
            row["project"],
            f"{row['project']} {row['session']}",
            row["title"],
            row["content"],
            datetime.fromisoformat(row["date"]),
        )
        for row in rows
        if row["t"] == "mem"
    ]
    questions = [
        Question(
            row["id"],
            row["project"],
            row["question"],
            tuple(f"{row['project']}/{key}" for key in row.get("gold") or ()),
            row["category"],
        )
        for row in rows
        if row["t"] in ("qa", "foreign")
    ]
    asked = [one for one in questions if one.part in OF_ONE_PASSAGE and one.gold]
    return Dataset("beam", memories, asked, foreign=[one for one in questions if one.part == "abstention"])


def _locomo(
    name: str, memories: Sequence[Memory], rows: Sequence[dict[str, Any]], key: Callable[[str, str], str]
) -> Dataset:
    questions = [
        Question(
            row["id"],
            row["conv"],
            row["question"],
            tuple(dict.fromkeys(key(row["conv"], turn) for turn in row["evidence"])),
            str(row["category"]),
        )
        for row in rows
        if row["t"] == "qa"
    ]
    asked = [question for question in questions if question.part != ADVERSARIAL]
    return Dataset(name, memories, asked, [question for question in questions if question.part == ADVERSARIAL])


def _said(row: dict[str, Any]) -> str:
    return f"{row['text']}\n{row['caption']}" if row["caption"] else str(row["text"])


def _locomo_time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _rows(folder: Path, stem: str) -> list[dict[str, Any]]:
    return list(_read(folder / f"{stem}.jsonl.gz"))


def _read(file: Path) -> Iterator[dict[str, Any]]:
    if not file.exists():
        raise NoDataError(f"{file} is not there; set ENGRAM_BENCH_DATA to the folder that holds it")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


LOADERS: dict[str, Callable[[Path], Dataset]] = {
    "locomo-turns": locomo_turns,
    "locomo-sessions": locomo_sessions,
    "locomo-mixed": locomo_mixed,
    "xquad": xquad,
    "cosqa": cosqa,
    "dpdk": dpdk,
    "dpdk-small": dpdk_small,
    "beam": beam,
    **{name: marked(name) for name in ("adr", "faq", "nl2bash", "curl")},
}
# What a change of the ranking is judged by: the others are made of these.
NINE = ("adr", "faq", "nl2bash", "curl", "locomo-turns", "locomo-sessions", "cosqa", "dpdk", "xquad")
