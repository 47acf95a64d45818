"""``python -m bench.contradictions``: does a save ask about the one older memory that it contradicts or revises?

``contradictions.json`` has pairs of saves by two sessions in six projects, two of them not in English: they contradict,
revise or refine each other, say something else about the same subject, or have only the field in common. The newer one
is saved into a memory of all older ones of its project. ``found`` counts questions about the older of the pair,
``other`` those about another memory. Half of the pairs, by a hash of their titles, are for building; ``--half report``
asks the others.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from bench import memories
from bench.workplace import git
from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.memory.observations.values import Saved
from engram_py.recall.vectors.model import LANES, fetch

PAIRS = Path(__file__).with_suffix(".json")
KINDS = ("contradict", "revise", "refine", "compatible", "unrelated")
DUE, UNDUE = KINDS[:2], KINDS[3:]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two saves; ``kind`` tells what the newer one is to the older."""

    kind: str
    older: dict[str, Any]
    newer: dict[str, Any]

    @property
    def half(self) -> str:
        titles = f"{self.older['title']}\n{self.newer['title']}"
        return "report" if sha256(titles.encode()).digest()[0] % 2 else "build"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.contradictions", description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=("build", "report"), default="build", help="which pairs to save")
    parser.add_argument("--vectors", action="store_true", help="compare by meaning as well")
    parser.add_argument("--faults", action="store_true", help="print each pair that was judged wrongly")
    arguments = parser.parse_args()
    memories.without_settings()
    asked, about_it, about_other = Counter[str](), Counter[str](), Counter[str]()
    for pair, titles in _asked(arguments.half, "sentence" if arguments.vectors else ""):
        is_found = pair.older["title"] in titles
        asked[pair.kind] += 1
        about_it[pair.kind] += is_found
        about_other[pair.kind] += bool(titles) and not is_found
        if arguments.faults and (is_found if pair.kind in UNDUE else not is_found and pair.kind in DUE) | bool(
            set(titles) - {pair.older["title"]}
        ):
            print(f"{pair.kind}: {pair.newer['title']!r} beside {pair.older['title']!r}: asked about {titles}")
    for name, kinds in {**{kind: (kind,) for kind in KINDS}, "found": DUE, "false": UNDUE}.items():
        pairs, it, other = (sum(counts[kind] for kind in kinds) for counts in (asked, about_it, about_other))
        print(f"{name:<10} {it:3} of {pairs:3} {it / pairs:.2f}   other {other:3} {other / pairs:.2f}")
    return 0


def _asked(half: str, lane: str) -> Iterator[tuple[Pair, list[str]]]:
    """Yield each pair of a half, and the titles that the save of its newer side asked about."""
    for name, found in json.loads(PAIRS.read_text(encoding="utf-8")).items():
        pairs = [Pair(**one) for one in found]
        with tempfile.TemporaryDirectory(prefix="engram-pairs-") as room:
            (folder := Path(room).resolve() / name).mkdir()
            git(folder, "init", "--quiet")
            for file in {file for pair in pairs for side in (pair.older, pair.newer) for file in side.get("files", ())}:
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                (folder / file).write_text(f"{file}\n", encoding="utf-8")
            if lane:
                fetch(LANES[lane], Path(room) / "memory" / "models")
            with Engram(settings=Settings(Path(room) / "memory", embedder=lane), directory=folder) as app:
                for number, pair in enumerate(pairs):
                    _save(app, pair.older, f"older-{number}")
                for number, pair in enumerate(pairs):
                    if pair.half == half:
                        saved = _save(app, pair.newer, f"newer-{number}")
                        pending = app.relations.pending()
                        yield pair, [one.target_title or "" for one in pending if one.source_id == saved.sync_id]
                        app.observations.delete(saved.id, hard=True)


def _save(app: Engram, side: dict[str, Any], session: str) -> Saved:
    files, topic = tuple(side.get("files", ())), side.get("topic")
    draft = Draft(side["title"], side["content"], side["type"], topic_key=topic, files=files)
    saved = app.save(draft, session_id=session)
    if app.vectors.enabled:
        app.vectors.compute()
    return saved


if __name__ == "__main__":
    raise SystemExit(main())
