"""``python -m bench.layouts``: does the answer quote the decision of a record, the version of a changelog's entry?

Twenty records and changelogs, each in another layout and written before anybody looked at an answer (``layouts.txt``),
are documents of a repository first and memories of another then, asked for quotes as short. A question counts where the
quote, or the title of a document's hit, holds one of the words that it needs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.workplace import git
from engram_py import Draft, Engram

_CHARS = 300
_LONG = "".join(f"- Table {number} of the old schema is gone, use its view.\n" for number in range(120))


@dataclass(frozen=True, slots=True)
class Layout:
    """A document, and its questions with the words of which the answer needs one."""

    path: str
    questions: tuple[tuple[str, tuple[str, ...]], ...]
    text: str


def layouts() -> Iterator[Layout]:
    """Yield the documents of ``layouts.txt``."""
    for part in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("%% ")[1:]:
        lines = part.splitlines()
        asked = [line[2:].split(" :: ") for line in lines[1:] if line.startswith("? ")]
        questions = tuple((ask, tuple(needs.split(" | "))) for ask, needs in asked)
        text = "\n".join(lines[1 + len(asked) :]).replace("{long}\n", _LONG)
        yield Layout(lines[0], questions, f"{text}\n")


def main() -> int:
    files = list(layouts())
    with tempfile.TemporaryDirectory(prefix="engram-layouts-") as name:
        room = Path(name).resolve()
        root = room / "documents"
        for one in files:
            (root / one.path).parent.mkdir(parents=True, exist_ok=True)
            (root / one.path).write_text(one.text, encoding="utf-8")
        git(root, "init", "--quiet")
        with Engram(room / "documents-memory", directory=root) as app:
            app.documents.update("docs")
            app.documents.add(str(root), name="all", glob=["*.md", "*.rst", "*.txt"])
            _print("documents", files, app)
        (other := room / "other").mkdir()
        git(other, "init", "--quiet")
        with Engram(room / "memories", directory=other) as app:
            for one in files:
                app.save(Draft(one.path, one.text, "decision"))
            _print("memories", files, app)
    return 0


def _print(kind: str, files: list[Layout], app: Engram) -> None:
    right, missed = [0, 0], []
    asked = [(one, ask, needs) for one in files for ask, needs in one.questions]
    for one, ask, needs in asked:
        if kind == "documents":
            hits = [(hit.source, f"{hit.title} {hit.snippet}") for hit in app.documents.search(ask, limit=5).results]
        else:
            found = app.searches.search(ask, snippet_chars=_CHARS)
            hits = [(hit.title, hit.snippet) for hit in found.results]
        own = next((text for source, text in hits if one.path in source), "")
        right[0] += bool(own)
        right[1] += any(need in own for need in needs)
        if not any(need in own for need in needs):
            missed.append(f"  {one.path}: {ask}: {own[:200] or [source for source, _ in hits[:2]]}")
    print(f"{kind}, {len(asked)} questions: found {right[0]}, with the answer {right[1]}")
    if "--missed" in sys.argv:
        print("\n".join(missed))


if __name__ == "__main__":
    raise SystemExit(main())
