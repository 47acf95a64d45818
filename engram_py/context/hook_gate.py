"""Tells cheaply that a prompt deserves no memory: assembling a context loads more than most prompts are worth."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from engram_py.context import table
from engram_py.context.gate.gate import gate, mentions, name_key
from engram_py.context.gate.names import names_of
from engram_py.context.next_steps import steps_ordered
from engram_py.context.title_matches import titled
from engram_py.database.store import Store
from engram_py.observations import table as observation_table
from engram_py.recall.query.parse import quote

# What context/prompt.py makes its names of; more names than it finds do no harm here, fewer would.
_NAMED_BY, _MOST_ENTITIES, _ENTITY, _SUMMARY = 100, 500, "entity", "session_summary"


def surely_nothing(store: Store, prompt: str, projects: Sequence[str] | None, today: date) -> bool:
    """Whether the relevance gate hears no cue in ``prompt``, whatever this memory holds, no title has its words and no
    session left to be done what it orders; False when it may."""
    known = _names(store, projects)
    spelt = {name: name_key(name) for name in mentions(prompt)}
    known |= {key for name, key in spelt.items() if key and table.mentioned(store, quote(name))}
    if gate(prompt, known, today=today):
        return False
    return not titled(store, prompt, projects) and not steps_ordered(store, prompt, projects)


def _names(store: Store, projects: Sequence[str] | None) -> set[str]:
    entities = table.of_family(store, _ENTITY, projects=projects, limit=_MOST_ENTITIES)
    newest = observation_table.recent(store, projects=projects, limit=_NAMED_BY, without=[_SUMMARY])
    names: set[str] = set()
    for row in (*entities, *newest):
        names |= names_of(row.title, row.topic_key, row.aliases, families=frozenset())
    return names
