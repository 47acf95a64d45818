"""``python -m bench.said``: how many of the statements found in turns are ones, and how many of those are found.

``said.txt`` labels 2,083 turns by hand: chats of ``beam`` and ``locomo`` (read from the data folder, never copied: a
line has the id, the beginning of the text's SHA-256 and the places of statements) and turns of our own, with statements
between « and ». A statement is a plain sentence of the person, meant for good: a preference, who they are, a decision,
a standing rule. Turns fall into two halves by their hash: one to build on, one to report.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from bench.datasets import data_folder
from engram_py.base.capture.said import said

LABELS = Path(__file__).with_name("said.txt")


@dataclass(frozen=True, slots=True)
class Turn:
    """A labelled turn; ``places`` are where its statements begin and end."""

    source: str
    text: str
    places: tuple[tuple[int, int], ...]

    @property
    def half(self) -> str:
        return "build" if sha256(self.text.encode()).digest()[0] % 2 else "unseen"


def turns() -> Iterator[Turn]:
    texts = {**_texts("beam"), **_texts("locomo")}
    for line in LABELS.read_text(encoding="utf-8").splitlines():
        source, _, rest = line.partition(" ")
        if source == "own":
            yield own_turn(rest)
            continue
        key, digest, *places = rest.split()
        text = texts.get(f"{source} {key}", "")
        if sha256(text.encode()).hexdigest()[:8] != digest:
            raise SystemExit(f"{source} {key} is another text than the one that was labelled")
        yield Turn(source, text, tuple((int(a), int(b)) for a, b in (place.split("-") for place in places)))


def own_turn(marked: str) -> Turn:
    """Return a turn of our own as its line has it."""
    text, places = "", []
    for number, part in enumerate(marked.replace("\\n", "\n").replace("»", "«").split("«")):
        if number % 2:
            places.append((len(text), len(text) + len(part)))
        text += part
    return Turn("own", text, tuple(places))


def _texts(name: str) -> dict[str, str]:
    with gzip.open(data_folder() / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if name == "beam":
        return {f"beam {row['project']}/{row['id']}": row["content"] for row in rows if row["t"] == "mem"}
    return {f"locomo {row['conv']}/{row['id']}": row["text"] for row in rows if row["t"] == "turn"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.said", description="Measure what is taken for good.")
    parser.add_argument("--errors", action="store_true", help="print those of the half to build on")
    errors = parser.parse_args().errors
    counts: Counter[tuple[str, str, str]] = Counter()
    for turn in turns():
        left = list(turn.places)
        for one in said(turn.text):
            place = next((place for place in left if place[0] <= one.start < place[1]), None)
            if place is not None:
                left.remove(place)
            counts[turn.half, turn.source, "right" if place else "wrong"] += 1
            if errors and turn.half == "build" and not place:
                print(f"wrong   {turn.source:7} {one.kind:11} {one.text!r}")
        counts[turn.half, turn.source, "missed"] += len(left)
        counts[turn.half, turn.source, "turns"] += 1
        for begin, end in left if errors and turn.half == "build" else ():
            print(f"missed  {turn.source:7} {turn.text[begin:end][:150]!r}")
    print(f"{'half':8}{'turns of':10}{'turns':>7}{'found':>7}{'right':>7}{'missed':>8}{'precision':>11}{'recall':>8}")
    for half in ("build", "unseen"):
        for sources in (("own",), ("beam",), ("locomo",), ("own", "beam", "locomo")):
            right, wrong, missed, many = (
                sum(counts[half, source, what] for source in sources) for what in ("right", "wrong", "missed", "turns")
            )
            name = sources[0] if len(sources) == 1 else "all"
            precision, recall = right / max(1, right + wrong), right / max(1, right + missed)
            print(f"{half:8}{name:10}{many:7}{right + wrong:7}{right:7}{missed:8}{precision:11.3f}{recall:8.3f}")


if __name__ == "__main__":
    main()
