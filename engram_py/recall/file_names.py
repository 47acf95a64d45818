"""A file that a question or a filter names: what is about it is found, whether its text has the name or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram_py.anchors import table as anchors
from engram_py.database.store import Store
from engram_py.recall.index import table as search
from engram_py.recall.postings import NEWEST_ROWS
from engram_py.recall.query.parse import phrase
from engram_py.recall.score.bm25 import Term, idf
from engram_py.text.segments import segments

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors

# As so many mentions of the name count: to be anchored to the file, to name it in words, to have the words of its name.
_ANCHORED, _NAMED, _WORDED = 6.0, 1.5, 0.4

_MOST = 4  # files of one question
_MOST_CHARS = 300
_AROUND = "\"'`()[]<>,;:!?"
_LINE = re.compile(r":[0-9]+(?:[-:][0-9]+)?$")
_FILE_NAME = re.compile(r"[^/]\.[A-Za-z][\w+-]{0,9}$")
_NO_PATH = re.compile(r"://|[*?{}$]|//|/$|^$")


def weigh_files(store: Store, terms: list[Term], text: str, *, size: int, projects: Sequence[str] | None) -> list[Term]:
    """The terms, with one for each file of ``text`` that an anchor in ``projects`` knows, in the place of its words.

    As with ``file:``, a text that names the file is about it too; one that has the words of its name may be. ``yml``
    and the names of folders say nothing besides. A name that no anchor knows is words, and costs one look-up.
    """
    for path, typed in file_words(text).items():
        about = anchors.newest_of_file(store, path, projects=projects, limit=NEWEST_ROWS)
        if about:
            gone = _words(typed) - _words(text.replace(typed, " "))
            others = [term for term in terms if term.text not in gone]
            terms = [_file(store, terms, path, about, size=size, projects=projects), *others]
    return terms


def _file(
    store: Store, terms: Sequence[Term], path: str, about: Sequence[int], *, size: int, projects: Sequence[str] | None
) -> Term:
    named = search.newest_seen(store, f"{{title content}} : {phrase(path)}", projects=projects, limit=NEWEST_ROWS)
    held = len({*about, *named})
    worth = idf(held, size)
    rows = dict.fromkeys(_worded(store, terms, path), _WORDED)
    rows |= dict.fromkeys(named, _NAMED) | dict.fromkeys(about, _ANCHORED)
    return Term(path, "", worth, held, mentions=rows, looked_up=True)


def _words(text: str) -> set[str]:
    return {word.lower() for word in segments(text)}


def _worded(store: Store, terms: Sequence[Term], path: str) -> list[int]:
    """The newest rows that have all words of the file's name."""
    known = {term.text: term.expression for term in terms if term.rows and term.expression}
    words = [known.get(word, "") for word in naming_words(path)]
    return search.newest(store, " AND ".join(words), limit=NEWEST_ROWS) if words and all(words) else []


def file_words(text: str) -> dict[str, str]:
    """At most four paths with slashes, each with the word it was typed as; ``e.g.`` and ``node.js`` may be files."""
    found: dict[str, str] = {}
    for word in text.split() if "." in text or "/" in text or "\\" in text else ():
        path = _LINE.sub("", word.strip(_AROUND)).rstrip(".").replace("\\", "/").removeprefix("./")
        named = "/" in path or _FILE_NAME.search(path)
        if named and len(path) <= _MOST_CHARS and not _NO_PATH.search(path):
            found.setdefault(path, word)
            if len(found) == _MOST:
                break
    return found


def naming_words(path: str) -> list[str]:
    """The words of a file's own name without what it ends in: ``docker`` and ``compose`` of ``docker-compose.yml``."""
    return [word.lower() for word in segments(PurePosixPath(path).stem)]


def of_file(
    store: Store, anchored: Anchors, path: str, *, limit: int = 100, projects: Sequence[str] | None = None
) -> list[int]:
    """Ids of the live observations anchored to ``path`` (see ``Anchors.of_file``; a name without a dot may be a
    folder's), then the newest that name it in title or text: what was not there when it was saved has no anchor."""
    found = anchored.of_file(path, limit=limit, projects=projects)
    if "." not in path and not path.endswith("/"):
        found += anchored.of_file(f"{path}/", limit=limit, projects=projects)
    words = phrase(path.replace("\\", "/"))
    if words and ("." in path or "/" in path.strip("/")):
        found += search.newest_seen(store, f"{{title content}} : {words}", projects=projects, limit=limit)
    return list(dict.fromkeys(found))
