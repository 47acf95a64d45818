"""The names a memory goes by: what a prompt may mention to be about it."""

from __future__ import annotations

from collections.abc import Iterator

from engram_py.context.gate.gate import is_code, name_key

ENTITY = "entity/"
_SHOUTING = 0.5
_AROUND = "()[]{}<>\"',;:!?.*`"


def names_of(title: str, topic_key: str | None, aliases: str, *, families: frozenset[str]) -> frozenset[str]:
    """Subject and family of the topic key, aliases, code and proper names of the title, spelt by ``name_key``.

    ``families`` are words that stand for a type rather than a thing.
    """
    found = {name_key(name) for name in _spelt(title, topic_key or "", aliases, families)}
    return frozenset(name for name in found if name)


def keyed_names(topic_key: str | None, aliases: str) -> frozenset[str]:
    """The names somebody gave on purpose: the subject of the topic key, and the aliases."""
    subject = (topic_key or "").rpartition("/")[2]
    found = {name_key(name) for name in (subject, *aliases.split("; "))}
    return frozenset(name for name in found if name)


def _spelt(title: str, topic_key: str, aliases: str, families: frozenset[str]) -> Iterator[str]:
    *family, subject = topic_key.split("/")
    yield subject
    yield from (part for part in family if part not in families)
    yield from aliases.split("; ")
    words = title.split()
    yield from (word for word in words if is_code(word))
    named = [word.strip(_AROUND) for word in words[1:] if word[:1].isupper()]
    if len(named) <= _SHOUTING * len(words):  # else every word of the title has a capital
        yield from named
