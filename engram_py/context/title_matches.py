"""What has the words of a prompt in its title, or the answer to its question, for prompts in which no cue was heard."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.context import table
from engram_py.context.gate.order_subject import things_ordered
from engram_py.context.gate.questions import match_question, question_in, tells, words_answered
from engram_py.context.gate.titles import match_titles, shared, words_of
from engram_py.database.store import Store
from engram_py.recall.index import mentions
from engram_py.recall.plan import weigh
from engram_py.recall.postings import ROW_BUDGET
from engram_py.recall.query.parse import quote
from engram_py.recall.score.proximity import READ_CHARS
from engram_py.recall.score.topics import begins_topic, words_held

MOST_TITLED = 3
# Newest first: older ones with two words of the prompt in their titles are not looked at.
_LOOKED_AT = 50


def titled(store: Store, prompt: str, projects: Sequence[str] | None) -> list[int]:
    """The observations whose title is about what ``prompt`` says, what it has most of first; else what holds nearly all
    the words of a question."""
    words = words_of(prompt)
    if words:
        rows = table.named_by(store, match_titles(list(words)), projects=projects, limit=_LOOKED_AT)
        shares = {row.id: shared(words, row.title, row.topic_key, row.aliases) for row in rows}
        about = [row_id for row_id, share in shares.items() if share]
        if about:
            return sorted(about, key=lambda row_id: shares[row_id], reverse=True)[:MOST_TITLED]
    return _answering(store, prompt, projects) or _by_topic(store, prompt, projects)


def _answering(store: Store, prompt: str, projects: Sequence[str] | None) -> list[int]:
    """Those that hold most of a question, latest first."""
    question = question_in(prompt)
    if question is None:
        return []
    total = mentions.totals(store).rows
    terms = weigh(store, question.asked, size=total)
    known = {term.text: term.rows for term in terms if term.rows}
    rare = [word for word, rows in known.items() if rows <= ROW_BUDGET]
    if not rare or not tells(known, terms, total):
        return []
    match = match_question(question, rare)
    found = table.named_by(store, match, projects=projects, limit=_LOOKED_AT, chars=READ_CHARS)
    held = {row.id: words_answered(question, row.title, row.content, row.topic_key, row.aliases) for row in found}
    told = {row_id: len(words) for row_id, words in held.items() if words and tells(words, terms, total)}
    most = max(told.values(), default=0)
    return [row_id for row_id, count in told.items() if count == most][:MOST_TITLED]


def _by_topic(store: Store, prompt: str, projects: Sequence[str] | None) -> list[int]:
    """Those whose topic begins with the thing that an order names, where this is half of what it names: `scan-timeout`
    of "update the scan screen"."""
    things = things_ordered(prompt)
    if not things:
        return []
    match = f"{{topic_key}} : ({' OR '.join(map(quote, things))})"
    found = table.named_by(store, match, projects=projects, limit=_LOOKED_AT, chars=READ_CHARS)
    about = [row for row in found if row.topic_key and begins_topic(things, row.topic_key)]
    held = {row.id: words_held(f"{row.title} {row.topic_key} {row.content}", things) for row in about}
    return sorted(held, key=lambda row_id: len(held[row_id]), reverse=True)[:MOST_TITLED]
