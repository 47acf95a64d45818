"""Realistic text in any number: commit messages where the set is at hand, else made of word lists."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import words

_SHARED = Path(__file__).resolve().parents[2] / "shared" / "retrieval"
_FILE = "dpdk.jsonl.gz"
_MADE = 4_000


@dataclass(frozen=True)
class Note:
    """What somebody would save."""

    title: str
    content: str


@dataclass(frozen=True)
class Corpus:
    """Notes to save, in the order of time, and subjects to ask for; ``source`` says where they are from."""

    source: str
    notes: Sequence[Note]
    subjects: Sequence[str]

    @classmethod
    def load(cls) -> Corpus:
        """The DPDK commits of ``ENGRAM_BENCH_DATA`` (a folder) or ``../shared/retrieval``, else made text."""
        file = Path(os.environ.get("ENGRAM_BENCH_DATA") or _SHARED) / _FILE
        if not file.exists():
            made = [Note(*words.note(number)) for number in range(_MADE)]
            return cls("text made of word lists", made, [words.note(_MADE + number)[0] for number in range(500)])
        notes, subjects = [], []
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row["t"] == "commit":
                    notes.append(Note(row["title"], row["content"] or row["title"]))
                elif row["category"] == "subject":
                    subjects.append(row["question"])
        return cls("DPDK commit messages", notes, subjects)

    def many(self, count: int) -> Iterator[Note]:
        """``count`` notes, no two alike: past the first time round, each is put together of two and gets names of
        its own, so that the vocabulary goes on growing as it does in real memories."""
        dice = random.Random(7)
        for number in range(count):
            note = self.notes[number % len(self.notes)]
            if number >= len(self.notes):
                note = _crossed(note, dice.choice(self.notes), dice)
            yield note

    def queries(self, count: int) -> list[tuple[str, str]]:
        """(kind, query): commit subjects and short questions in turn, the same ones in every run."""
        dice = random.Random(11)
        picked = dice.sample(self.subjects, min(count, len(self.subjects)))
        return [
            ("subject", one) if place % 2 else ("question", _question(one, dice)) for place, one in enumerate(picked)
        ]


def _crossed(one: Note, other: Note, dice: random.Random) -> Note:
    area, _, rest = one.title.rpartition(": ")
    other_area = other.title.rpartition(": ")[0]
    title = f"{other_area or area or 'core'}: {rest} in {words.identifier(dice)}"
    half = one.content.split("\n")
    half = half[: max(1, len(half) // 2)]
    tail = other.content.split("\n")
    tail = tail[len(tail) // 2 :]
    return Note(
        title, "\n".join([*half, f"Seen in {words.identifier(dice)}() at 0x{dice.randrange(1 << 32):08x}.", *tail])
    )


def _question(subject: str, dice: random.Random) -> str:
    kept = [word for word in subject.rpartition(": ")[2].split() if len(word) > 3] or subject.split()
    about = " ".join(dice.sample(kept, min(3, len(kept))))
    return dice.choice(("why did we change {}?", "how was the {} fixed", "what do we know about {}")).format(about)
