"""Tiny sets in the files' own forms, made here: the real ones may be measured with, not copied."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest


def turn(conv: str, session: int, number: int, speaker: str, text: str, caption: str = "") -> dict[str, Any]:
    return {
        "t": "turn",
        "conv": conv,
        "session": session,
        "id": f"D{session}:{number}",
        "speaker": speaker,
        "text": text,
        "caption": caption,
        "date": f"1:0{session} pm on {session} May, 2023",
    }


def asked(conv: str, number: int, question: str, evidence: list[str], category: int = 4) -> dict[str, Any]:
    return {
        "t": "qa",
        "conv": conv,
        "id": f"{conv}-q{number}",
        "question": question,
        "evidence": evidence,
        "category": category,
        "split": "dev",
    }


LOCOMO = [
    turn("conv-1", 1, 1, "Ada", "The lighthouse keeper bought a telescope."),
    turn("conv-1", 1, 2, "Ben", "Which one?", caption="a photo of a brass telescope"),
    turn("conv-1", 2, 1, "Ada", "My violin teacher moved to Lisbon."),
    turn("conv-2", 1, 1, "Cleo", "The greenhouse roof leaks again."),
    turn("conv-2", 1, 2, "Dan", "Call the glazier."),
    asked("conv-1", 0, "Who bought a telescope?", ["D1:1", "D1:2"], category=1),
    asked("conv-1", 1, "Where did the violin teacher move?", ["D2:1"]),
    asked("conv-2", 0, "What leaks in the greenhouse?", ["D1:1"]),
    asked("conv-2", 1, "Which harbour has the glazier?", ["D1:2"], category=5),
]
XQUAD: list[dict[str, Any]] = [
    {"t": "par", "lang": "en", "id": "p0", "article": 0, "text": "Basalt columns form where lava cools slowly."},
    {"t": "par", "lang": "en", "id": "p1", "article": 0, "text": "Otters sleep holding hands."},
    {"t": "par", "lang": "es", "id": "p0", "article": 0, "text": "Las columnas de basalto se forman despacio."},
    {"t": "qa", "lang": "en", "id": "en-1", "question": "Where do basalt columns form?", "gold": "p0", "split": "dev"},
    {"t": "qa", "lang": "es", "id": "es-1", "question": "columnas de basalto", "gold": "p0", "split": "dev"},
]
COSQA: list[dict[str, Any]] = [
    {"t": "code", "id": "0", "code": "async def flatten_list(rows):\n    return [one for row in rows for one in row]"},
    {"t": "code", "id": "1", "code": "def read_csv(path):\n    return open(path).read()"},
    {"t": "qa", "id": "q1", "question": "python flatten list", "gold": "0", "split": "dev"},
]
DPDK: list[dict[str, Any]] = [
    {
        "t": "commit",
        "id": "aaa",
        "author": "Ada",
        "date": "2022-03-01T23:30:00-02:00",
        "title": "net/x: add ring",
        "content": "Adds the ring of descriptors.",
    },
    {
        "t": "commit",
        "id": "bbb",
        "author": "Ben",
        "date": "2022-03-02T10:00:00+00:00",
        "title": "doc: tidy",
        "content": "Words only.",
    },
    {
        "t": "qa",
        "id": "f-subject",
        "category": "subject",
        "date": "2023-01-01T00:00:00+00:00",
        "question": "net/x: fix ring descriptors",
        "gold": ["aaa"],
        "split": "dev",
    },
]
KEPT: list[dict[str, Any]] = [
    {
        "t": "mem",
        "id": "m1",
        "title": "Use dates",
        "content": "Days are UTC.",
        "date": "2024-01-01T09:00:00",
        "session": "s",
    },
    {"t": "mem", "id": "m2", "title": "", "content": "The kiln fires at night.", "date": "2024-01-02T09:00:00"},
    {"t": "qa", "id": "q1", "question": "when does the kiln fire?", "gold": ["m2"], "category": "what"},
    {"t": "foreign", "id": "q2", "question": "who feeds the goats?", "gold": [], "category": "none"},
]


CHAT = {"mem": "", "qa": "information_extraction", "foreign": "abstention"}


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A folder as ``ENGRAM_BENCH_DATA`` names one."""
    home = tmp_path / "sets"
    home.mkdir()
    files: dict[str, list[dict[str, Any]]] = {"locomo": LOCOMO, "xquad": XQUAD, "cosqa": COSQA, "dpdk": DPDK}
    files |= dict.fromkeys(("adr", "faq", "nl2bash", "curl"), KEPT)
    files["beam"] = [row | {"project": "chat", "category": CHAT[row["t"]], "session": "s"} for row in KEPT]
    for name, rows in files.items():
        write_set(home / f"{name}.jsonl.gz", rows)
    return home


def write_set(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
