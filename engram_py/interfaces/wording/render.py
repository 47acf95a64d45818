"""Words every result once, for all interfaces: ``text`` for a reader, ``to_json`` for a program."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from typing import Any

from engram_py.base.capture.fences import harmless
from engram_py.base.dataclass import fields, is_dataclass
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.reasons import Reason, Sentence, Told
from engram_py.interfaces.wording import search
from engram_py.interfaces.wording.phrases import SpelledWords, Words, notes
from engram_py.interfaces.wording.reasons import Door, call, spelled
from engram_py.memory.observations.listing import Listing
from engram_py.memory.observations.values import Changed, Detail, Saved
from engram_py.memory.projects.values import AmbiguousProjectError
from engram_py.recall.values import Results

# Kinds that most answers are not, so that a search does not import them.
_RARE = ("engram_py.guidance.context.values", "engram_py.upkeep.values")
# The files that word the results of a folder, and of those in it that have no row.
_FILES = {
    "observations": ("observations", "phrases"),
    "entities": ("observations",),
    "identity": ("observations",),
    "relations": ("relations",),
    "anchors": ("phrases",),
    "projects": ("projects",),
    "privacy": ("projects",),
    "sessions": ("sessions",),
    "writing": ("observations", "projects", "sessions"),
    "recall": ("documents", "sessions"),
    "documents": ("documents",),
    "vectors": ("vectors",),
    "context": ("context",),
    "ledger": ("costs",),
    "failures": ("acting",),
    "guards": ("acting",),
    "sync": ("sync",),
    "vault": ("documents",),
    "interchange": ("projects",),
    "upkeep": ("upkeep", "costs", "projects"),
    "distill": ("sessions",),
    "evaluation": ("evaluation",),
    "database": ("upkeep",),
}
_EMPTY = {
    "due": "Nothing is due for review",
    "pending": "No possible conflict is open",
    "statements": "Nothing is known about the user yet",
    "alike": "No two projects have similar names",
    "merged": "Nothing was merged",
}


def text(value: object, *, now: datetime, door: Door, full: bool = False) -> str:
    """Return a result as a person or a model reads it: nothing in it moves a terminal or ends a fence of a host.

    ``door`` spells the operations it names; ``full`` gives search hits longer previews.
    """
    folders = type(value).__module__.split(".")[:-1]
    if isinstance(value, Results):
        said = _search(value, now, door, full=full)
    elif isinstance(value, Listing):
        said = "\n".join(text(item, now=now, door=door) for item in value.items) or _EMPTY.get(
            value.name, f"No {value.name}"
        )
    else:
        said = _said(value, now, door, *next((_FILES[one] for one in reversed(folders) if one in _FILES), ()))
        if folders[-1] == "context":  # its notes count against its budget
            return said
    return harmless(with_notes(said, getattr(value, "warnings", ()), door))


def _search(value: Results, now: datetime, door: Door, *, full: bool) -> str:
    if value.explain is None:
        return search.results(value, now=now, door=door, full=full)
    return search.explained(value, door)


def _said(value: object, now: datetime, door: Door, *files: str) -> str:
    kind = type(value)
    for name in files:  # imported when a result needs it
        room = import_module(f"engram_py.interfaces.wording.{name}")
        words: Words = getattr(room, "WORDS", {})
        spelled_words: SpelledWords = getattr(room, "SPELLED", {})
        if kind in words:
            return words[kind](value, now)
        if kind in spelled_words:
            return spelled_words[kind](value, now, door)
    raise TypeError(f"nothing words {type(value).__name__}")


def why_empty(value: object, door: Door) -> str:
    """Return why a result has no text, where more is known than that there is nothing."""
    if type(value).__module__ not in _RARE:
        return ""
    from engram_py.guidance.context.values import Context
    from engram_py.interfaces.wording.context import not_merged

    said = not_merged(value) if isinstance(value, Context) else ""
    return f"Nothing here for this prompt: {said}; {call(door, 'search')} finds it." if said else ""


def to_json(value: Any, door: Door) -> Any:
    """Return a result as JSON-ready values; every interface answers the same."""
    match value:
        case Sentence() | Reason():
            return spelled(value, door)
        case Listing():
            return {
                value.name: to_json(value.items, door),
                "count": len(value.items),
                "warnings": to_json(value.warnings, door),
            }
        case Detail():
            whole = to_json(value.observation, door)
            rest = {f.name: to_json(getattr(value, f.name), door) for f in fields(value) if f.name != "observation"}
            return whole | rest
        case Changed():
            from engram_py.interfaces.wording.observations import changed_values

            return to_json(changed_values(value), door)
        case Saved():
            return _plain(value, door) | {"judgment_required": value.judgment_required}
        case Results():
            whole = _plain(value, door) | {"query": value.query[:200], "count": len(value.results)}
            # Said when it was asked for, or when there is nothing else to say.
            whole |= {} if value.documents else {"documents": None}
            unsaid = ("explain", "silence", "documents", "sort")
            return {name: one for name, one in whole.items() if one is not None or name not in unsaid}
    if type(value).__module__ in _RARE:
        return _rare_to_json(value, door)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(value, door)
    if isinstance(value, dict):
        return {key: to_json(one, door) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one, door) for one in value]
    return value


def _rare_to_json(value: Any, door: Door) -> Any:
    from engram_py.guidance.context.values import Context
    from engram_py.interfaces.wording.context import context_values
    from engram_py.upkeep.values import Report

    match value:
        case Context():
            return context_values(value, door)
        case Report():
            return _plain(value, door) | {"summary": value.summary}
    return _plain(value, door)


def error_text(error: EngramError, door: Door) -> str:
    """Return a failure in the same words everywhere: the code, the fact, the next step."""
    return f"{error.code}: {spelled(error.told, door)}\nhint: {spelled(error.next_step, door)}"


def person_text(error: EngramError) -> str:
    """Return a failure for somebody at a terminal: without the code, and with the choices that there are."""
    said, step = spelled(error.told, "cli"), spelled(error.next_step, "cli")
    if isinstance(error, InvalidArgumentError) and error.expected:
        return said if error.expected == "given" else f"{said}: it must be {error.expected}"
    if not isinstance(error, AmbiguousProjectError):
        return f"{said}\nhint: {step}"
    import shlex

    choices = ", ".join(f"--project {shlex.quote(one)}" for one in error.candidates)
    step = f"choose one: {choices}" if choices else "hint: pass --project NAME, or name this folder: `engram init NAME`"
    return f"{said.partition(' (candidates:')[0]}\n{step}"


def error_values(error: EngramError, door: Door) -> dict[str, Any]:
    """Return the facts of a failure, JSON-ready, and its next step as ``door`` spells it."""
    return error.details() | {"message": spelled(error.told, door), "hint": spelled(error.next_step, door)}


def with_notes(body: str, warnings: Sequence[Told], door: Door) -> str:
    return "\n".join([body, *notes(warnings, door)])


_FOREIGN = ("unchecked", "author")


def _plain(value: Any, door: Door) -> dict[str, Any]:
    # Said only of what is not the user's own.
    named = {field.name: getattr(value, field.name) for field in fields(value)}
    return {name: to_json(one, door) for name, one in named.items() if name not in _FOREIGN or one is not None}
