"""Files that a question or a filter names: the rows about them, whether their text has the name or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram_py.anchors import table as anchors
from engram_py.database.store import Store
from engram_py.recall.index import table as index
from engram_py.recall.query.parse import phrase
from engram_py.recall.score.bm25 import Term, idf
from engram_py.recall.terms import NEWEST_ROWS
from engram_py.text.segments import segments

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors

# A row counts as so many mentions if it is anchored to the file, names it, or has the words of its name.
_ANCHORED, _NAMED, _HAS_WORDS = 6.0, 1.5, 0.4

_MOST_FILES = 4
_MOST_CHARS = 300
_AROUND = "\"'`()[]<>,;:!?"
_LINE = re.compile(r":[0-9]+(?:[-:][0-9]+)?$")
_FILE_NAME = re.compile(r"[^/]\.[A-Za-z][\w+-]{0,9}$")
_NO_PATH = re.compile(r"://|[*?{}$]|//|/$|^$")


def with_files(store: Store, terms: list[Term], text: str, *, size: int, projects: Sequence[str] | None) -> list[Term]:
    """Return the terms, with one for each file of ``text`` that an anchor in ``projects`` knows, in the place of its
    words. A name that no anchor knows is words, and costs one look-up."""
    for path, typed in file_words(text).items():
        anchored = anchors.newest_of_file(store, path, projects=projects, limit=NEWEST_ROWS)
        if anchored:
            replaced = _words(typed) - _words(text.replace(typed, " "))
            others = [term for term in terms if term.text not in replaced]
            terms = [_file_term(store, terms, path, anchored, size=size, projects=projects), *others]
    return terms


def _file_term(
    store: Store,
    terms: Sequence[Term],
    path: str,
    anchored: Sequence[int],
    *,
    size: int,
    projects: Sequence[str] | None,
) -> Term:
    named = index.newest_seen(store, f"{{title content}} : {phrase(path)}", projects=projects, limit=NEWEST_ROWS)
    count = len({*anchored, *named})
    rows = dict.fromkeys(_with_words_of(store, terms, path), _HAS_WORDS)
    rows |= dict.fromkeys(named, _NAMED) | dict.fromkeys(anchored, _ANCHORED)
    return Term(path, "", idf(count, size), count, mentions=rows, looked_up=True)


def _words(text: str) -> set[str]:
    return {word.lower() for word in segments(text)}


def _with_words_of(store: Store, terms: Sequence[Term], path: str) -> list[int]:
    """Return the newest rows that have all words of the file's name, without what it ends in."""
    known = {term.text: term.expression for term in terms if term.rows and term.expression}
    words = [known.get(word.lower(), "") for word in segments(PurePosixPath(path).stem)]
    return index.newest(store, " AND ".join(words), limit=NEWEST_ROWS) if words and all(words) else []


def file_words(text: str) -> dict[str, str]:
    """Return at most four paths with slashes, each with the word it was typed as; ``node.js`` may be a file."""
    found: dict[str, str] = {}
    for word in text.split() if "." in text or "/" in text or "\\" in text else ():
        path = _LINE.sub("", word.strip(_AROUND)).rstrip(".").replace("\\", "/").removeprefix("./")
        named = "/" in path or _FILE_NAME.search(path)
        if named and len(path) <= _MOST_CHARS and not _NO_PATH.search(path) and len(found) < _MOST_FILES:
            found.setdefault(path, word)
    return found


def rows_of_file(
    store: Store, anchored: Anchors, path: str, *, limit: int = 100, projects: Sequence[str] | None = None
) -> list[int]:
    """Return the ids of the live observations anchored to ``path`` (``Anchors.of_file``; a name without a dot may be a
    folder's), then of the newest that name it: a file that was not there at the save has no anchor."""
    found = anchored.of_file(path, limit=limit, projects=projects)
    if "." not in path and not path.endswith("/"):
        found += anchored.of_file(f"{path}/", limit=limit, projects=projects)
    words = phrase(path.replace("\\", "/"))
    if words and ("." in path or "/" in path.strip("/")):
        found += index.newest_seen(store, f"{{title content}} : {words}", projects=projects, limit=limit)
    return list(dict.fromkeys(found))
