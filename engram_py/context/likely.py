"""Tells before a context is assembled whether a prompt deserves one: most do not, and assembling loads much more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from engram_py.context.phrases import phrase_in, plain_words
from engram_py.database.store import Store
from engram_py.recall.candidates import retrieve
from engram_py.recall.query.parse import parse_query
from engram_py.recall.scope_filter import seen_from
from engram_py.recall.score.evidence import bar
from engram_py.recall.values import Near

_MOST_NEAR = 2


def nearest_unlikely(store: Store, prompt: str, projects: tuple[str, ...] | None, today: date) -> Sequence[Near] | None:
    """None where the prompt may deserve something; else what comes nearest to being given, best first."""
    if phrase_in(prompt, today) is not None:
        return None
    query = parse_query(plain_words(prompt))
    if not query.asks:
        return ()
    found = retrieve(store, query, seen_from(projects), limit=1, least=0.0, today=today)
    judged = sorted(((one.evidence.probability("unasked"), one) for one in found.scored), key=lambda one: -one[0])
    if judged and judged[0][0] >= bar("unasked"):
        return None
    return [
        Near(one.id, found.rows[one.id].title, probability, one.words)
        for probability, one in judged[:_MOST_NEAR]
        if one.id in found.rows and one.words
    ]
