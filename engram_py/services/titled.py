"""What has the words of a prompt in its title, for prompts in which no cue was heard."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.recall.titles import match_titles, shared, words_of
from engram_py.store import context as table
from engram_py.store.database import Store

MOST_TITLED = 3
# Newest first: older ones with two words of the prompt in their titles are not looked at.
_LOOKED_AT = 50


def titled(store: Store, prompt: str, projects: Sequence[str] | None) -> list[int]:
    """The observations whose title is about what ``prompt`` says, what it has most of first."""
    words = words_of(prompt)
    if not words:
        return []
    rows = table.named_by(store, match_titles(list(words)), projects=projects, limit=_LOOKED_AT)
    shares = {row_id: shared(words, title, topic, aliases) for row_id, title, topic, aliases in rows}
    about = [row_id for row_id, share in shares.items() if share]
    return sorted(about, key=lambda row_id: shares[row_id], reverse=True)[:MOST_TITLED]
