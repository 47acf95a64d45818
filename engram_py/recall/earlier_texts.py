"""Words that stand only in texts that were rewritten since: no index has these, so they are read, and not many."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.recall.index import older_texts
from engram_py.recall.values import Earlier
from engram_py.text.normalize import folded
from engram_py.text.segments import is_unspaced, segments

_MOST_WORDS = 4
# 500 texts of 2,000 characters took 15 ms to fetch, fold and read, and a search that is silent is not the usual one.
_WALKED, _MOST_READ, _READ_CHARS = 3_000, 500, 2_000


def said_earlier(store: Store, words: Sequence[str], projects: Sequence[str] | None) -> tuple[Earlier, ...]:
    """The first four of ``words`` that an earlier text of a live observation has, whole, each with the newest such."""
    wanted = {folded(word): word for word in words[:_MOST_WORDS]}
    if not wanted:
        return ()
    found: dict[str, int] = {}
    for row, text in older_texts.newest(store, projects, walked=_WALKED, most=_MOST_READ, chars=_READ_CHARS):
        plain = folded(text)
        here = [word for word in wanted if word not in found and word in plain]
        if here:
            whole = set(segments(plain))
            found |= {word: row for word in here if is_unspaced(word) or word in whole}
    return tuple(Earlier(spelt, found[word]) for word, spelt in wanted.items() if word in found)
