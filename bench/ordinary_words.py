"""``python -m bench.ordinary_words --write``: how often ordinary words stand in the texts that developers write.

Counts commit messages of curl and DPDK, the decision records and answers of the development sets, and the comments of
Go's standard library (where Go is installed), each text of about 50 words. The rate of a word is the geometric mean of
the four, so a word of one project alone is none of these. Only stems and their rates are written, no text.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bench.datasets import data_folder, load
from bench.keeping import ROOT

RATES = ROOT / "engram_py" / "recall" / "score" / "ordinary_words.json"
LEAST_RATE = 0.002
# Of a word that a source never has: as if a fifth of a text had it.
UNSEEN = 0.2
_WORDS, _LEAST_COMMENT = 60, 15


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.ordinary_words", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the rates into the package")
    arguments = parser.parse_args()
    found = rates([_counted(texts) for texts in (_set("curl"), _set("dpdk"), _set("adr", "faq"), _comments())])
    print(f"{len(found):,} stems; the most ordinary: {', '.join(sorted(found, key=lambda stem: -found[stem])[:40])}")
    if arguments.write:
        RATES.write_text(json.dumps(found, sort_keys=True, separators=(",", ":")) + "\n", encoding="utf-8")
    return 0


def rates(sources: Iterable[tuple[int, Mapping[str, int]]]) -> dict[str, float]:
    """By stem, the share of ordinary texts that have it; each source is how many texts there are, and have each."""
    sources = list(sources)
    stems = {stem for _, counts in sources for stem in counts if len(stem) > 1}
    found = {}
    for stem in stems:
        logs = [math.log((counts.get(stem, 0) + UNSEEN) / texts) for texts, counts in sources]
        rate = math.exp(sum(logs) / len(logs))
        if rate >= LEAST_RATE:
            found[stem] = round(rate, 4)
    return found


def _counted(texts: Iterable[str]) -> tuple[int, dict[str, int]]:
    """With the index's own stems (migrations/0002_search.sql)."""
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table texts using fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')")
    database.execute("create virtual table stems using fts5vocab(texts, 'row')")
    count = database.executemany("insert into texts values (?)", ((text,) for text in texts)).rowcount
    return count, dict(database.execute("select term, doc from stems"))


def _set(*names: str) -> Iterator[str]:
    for name in names:
        for memory in load(name, data_folder()).memories:
            words = f"{memory.title} {memory.content}".split()
            step = len(words) if name in ("curl", "dpdk") else _WORDS
            yield from (" ".join(words[at : at + step]) for at in range(0, len(words), step or 1))


def _comments() -> Iterator[str]:
    root = subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    for file in Path(root, "src").rglob("*.go"):
        if "testdata" in file.parts or file.name.endswith("_test.go"):
            continue
        block: list[str] = []
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.strip().startswith("//"):
                block += line.strip()[2:].split()
                continue
            if len(block) >= _LEAST_COMMENT and "Copyright" not in block:
                yield " ".join(block)
            block = []


if __name__ == "__main__":
    sys.exit(main())
