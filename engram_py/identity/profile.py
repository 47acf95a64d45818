"""The profile of a person, written from their preferences and the facts about them."""

from __future__ import annotations

from engram_py.capture.orders import reads_like_an_order
from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.identity import table
from engram_py.identity.about_me import names_in
from engram_py.observations.values import Observation

# What a person is called in a fact about themselves, besides the name that they gave; a `user` is a table as well.
THEM = ("me", "myself", "i")
_MOST_READ, _MOST_LINES, _LINE_CHARS = 100, 15, 160


@dataclass(frozen=True, slots=True)
class Sources:
    """What a profile is written from, latest change first."""

    preferences: tuple[Observation, ...]
    facts: tuple[Observation, ...]

    @property
    def rows(self) -> tuple[Observation, ...]:
        return (*self.preferences, *self.facts)


def sources_of(store: Store, now: str) -> Sources:
    """Return the personal preferences, the personal facts, and the facts about the person in any project.

    What reads like an order is left out; what is unchecked the statements of ``identity/table.py`` never give.
    """
    said = [row.content for row in table.overrides(store, None, limit=_MOST_READ)]
    names = [_slug(name) for statement in said for name in names_in(statement)]
    wanted = table.personal(store, types=("identity", "preference"), limit=_MOST_READ)
    facts = table.personal(store, types=("fact",), limit=_MOST_READ)
    facts += table.facts_about(store, [*THEM, *names], limit=_MOST_READ)
    unique = {row.id: row for row in facts}.values()
    return Sources(_fit(wanted, now), _fit(sorted(unique, key=_age, reverse=True), now))


def profile_text(sources: Sources) -> str:
    """Two lists of one line each; no more than a reader takes in at a glance."""
    parts = []
    for heading, rows in (("Prefers", sources.preferences), ("Facts", sources.facts)):
        lines = list(dict.fromkeys(f"- {_line(row)}" for row in rows))[:_MOST_LINES]
        if lines:
            parts.append("\n".join([f"{heading}:", *lines]))
    return "\n".join(parts)


def _fit(rows: list[Observation], now: str) -> tuple[Observation, ...]:
    return tuple(
        row
        for row in rows
        if not (row.expires_at and row.expires_at <= now) and not reads_like_an_order(row.title, row.content)
    )


def _line(row: Observation) -> str:
    title, content = " ".join(row.title.split()), " ".join(row.content.split())
    text = content if title.rstrip(".…").lower() in content.lower() else f"{title}: {content}"
    return text if len(text) <= _LINE_CHARS else text[: _LINE_CHARS - 1].rstrip() + "…"


def _age(row: Observation) -> tuple[str, str]:
    return row.updated_at, row.sync_id


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")
