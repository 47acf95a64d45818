"""Reasons and next steps as values: a room states facts, an interface words them for its reader.

``Reason`` says why an answer is as it is (``interfaces/wording/reasons.py`` has the words). ``Operation`` names what to
do next: a terminal is told a command, an agent a tool, a program a route (``interfaces/wording/reasons.py``).
"""

from __future__ import annotations

from typing import Any

from engram_py.base.dataclass import dataclass

# operation → how Python calls it
PYTHON = {
    "get": "get({id})",
    "open": 'documents.open("{source}")',
    "history": "get({id}, history=True)",
    "older": "get({id}, history=True, cursor={cursor})",
    "search": "search()",
    "search for": 'search("{query}")',
    "everywhere": "all_projects=True",
    "save": "save()",
    "context": "contexts.assemble()",
    "judge": "relations.judge()",
    "verdict": "relations.judge('{id}', 'supersedes')",
    "unjudged": "relations.pending()",
    "deleted": "bulk.listed(deleted=True)",
    "undelete": "undelete({id})",
    "destroy": "hard=True",
    "topic": 'topic_key="{key}"',
    "project": "project=NAME",
    "identity": "identity.listed()",
    "checkpoints": "checkpoints.listed()",
    "entities": "entities.listed()",
    "profile": "identity.write_profile()",
    "sessions": "sessions.recent()",
    "agents": "agents(app.store)",
    "prompts": "prompts.recent()",
    "vault init": "vault.init(PATH)",
    "vault import": "vault.take_in()",
    "vault export": "vault.export()",
    "projects": "projects.list()",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """The name of an operation, and the values it is called with; ``str`` is the call in Python."""

    name: str
    values: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        return PYTHON[self.name].format(**dict(self.values))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that names operations and reasons: text and these, in the order they are read."""

    parts: tuple[str | Operation | Sentence | Reason, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an answer is as it is: the name of the reason, and its facts; ``str`` is for logs."""

    name: str
    facts: tuple[tuple[str, object], ...] = ()

    def __str__(self) -> str:
        facts = ", ".join(f"{name}={fact}" for name, fact in self.facts)
        return self.name.replace("_", " ") + (f" ({facts})" if facts else "")


def kept(value: Any) -> Any:
    """Return a note, or a fact of one, that was kept as JSON."""
    match value:
        case {"name": name, "facts": facts}:
            return Reason(name, tuple((key, kept(one)) for key, one in facts))
        case {"parts": parts}:
            return Sentence(kept(parts))
        case list():
            return tuple(kept(one) for one in value)
    return value


def amount(number: int, thing: str) -> str:
    """``1 question``, ``1,024 questions``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {plural(thing)}"


def plural(thing: str) -> str:
    """Return the name of several of a thing."""
    if thing == "person":
        return "people"
    if thing.endswith(("x", "ch", "sh", "ss")):
        return f"{thing}es"
    return f"{thing[:-1]}ies" if thing.endswith("y") and thing[-2:-1] not in "aeiou" else f"{thing}s"


# What a note on an answer may be, before it is worded.
Told = str | Sentence | Reason


def reason(name: str, /, **facts: object) -> Reason:
    """Return the reason ``name`` with its ``facts``, none of which may change."""
    return Reason(name, tuple(facts.items()))


def operation(name: str, **values: object) -> Operation:
    """Return the operation ``name`` with ``values``."""
    return Operation(name, tuple(values.items()))


def sentence(*parts: str | Operation | Sentence | Reason) -> Sentence:
    """Return the sentence of these parts."""
    return Sentence(parts)
