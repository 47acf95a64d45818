"""The edits that setup makes, as values; apply them to a text, and remove them again."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from engram_py.dataclass import dataclass
from engram_py.interfaces.setup.jsonc import MISSING, JsonDocument, UnreadableTextError
from engram_py.interfaces.setup.toml_document import TomlDocument

Format = Literal["json", "toml", "text", "own"]


@dataclass(frozen=True, slots=True)
class Member:
    """Set this member to this value. ``lasting``: an existing value stays."""

    path: tuple[str, ...]
    value: Any
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """Put this item into the list at ``path``; an item that runs ``engram hook … --agent AGENT`` is replaced."""

    path: tuple[str, ...]
    value: Any
    agent: str


@dataclass(frozen=True, slots=True)
class Text:
    """The text between our marks (format ``text``), or the whole of a file that is ours alone (``own``)."""

    body: str


Edit = Member | Item | Text


@dataclass(frozen=True, slots=True)
class FileEdits:
    """The edits of one file for one agent in one scope."""

    path: Path
    format: Format
    edits: tuple[Edit, ...]


def applied(text: str, wanted: FileEdits) -> str:
    """Return the text after the edits.

    Raises UnreadableTextError: the text cannot be parsed, or holds something else where our part belongs.
    """
    if wanted.format == "own":
        return "".join(one.body for one in wanted.edits if isinstance(one, Text))
    if wanted.format == "text":
        for one in wanted.edits:
            text = with_block(text, one.body) if isinstance(one, Text) else text
        return text
    document = _document(text, wanted)
    for one in wanted.edits:
        if isinstance(one, Member) and not (one.lasting and document.get(one.path) is not MISSING):
            document.set(one.path, one.value)
        elif isinstance(one, Item) and isinstance(document, JsonDocument):
            _put_item(document, one)
    return document.text()


def replaced(text: str, wanted: FileEdits) -> Any:
    """Return the value under our name that the text would lose, MISSING without one. Raises UnreadableTextError."""
    if wanted.format in ("own", "text"):
        return MISSING
    document = _document(text, wanted)
    for one in wanted.edits:
        if isinstance(one, Member) and not one.lasting:
            value = document.get(one.path)
            if value is not MISSING and value != one.value:
                return value
    return MISSING


def altered(text: str, wanted: FileEdits) -> bool:
    """Return whether our part of the text holds something else than we would write. Raises UnreadableTextError."""
    if wanted.format == "own":
        return False
    if wanted.format == "text":
        there = without_block(text) != text
        return there and any(isinstance(one, Text) and with_block(text, one.body) != text for one in wanted.edits)
    document = _document(text, wanted)
    for one in wanted.edits:
        if isinstance(one, Item):
            items = document.get(one.path)
            ours = [item for item in items if is_ours(item, one.agent)] if isinstance(items, list) else []
            if ours and ours != [one.value]:
                return True
    return replaced(text, wanted) is not MISSING


def withdrawn(text: str, wanted: FileEdits, original: str | None) -> str | None:
    """Return the text without our part, all else as it is; None when the file was ours alone and goes.

    Where ``original``, the text from before us, had a member of our name, that comes back.
    """
    if wanted.format == "own":
        return None
    if wanted.format == "text":
        return without_block(text)
    document = _document(text, wanted)
    before = _document(original, wanted) if original is not None else None
    for one in wanted.edits:
        if isinstance(one, Member) and one.lasting:
            if before and before.get(one.path) is MISSING and document.get(one.path) == one.value:
                document.remove(one.path)
        elif isinstance(one, Member):
            earlier = before.get(one.path) if before else MISSING
            if earlier is MISSING:
                document.remove(one.path)
                _prune(document, one.path[:-1], before)
            else:
                document.set(one.path, earlier)
        elif isinstance(one, Item) and isinstance(document, JsonDocument):
            document.remove_items(one.path, partial(is_ours, agent=one.agent))
            _prune(document, one.path, before)
    return document.text()


def is_ours(item: Any, agent: str) -> bool:
    """Return whether every command in a hooks item is an ``engram hook`` for this agent."""
    commands = list(_commands(item))
    pattern = re.compile(rf"\bengram.*\bhook [a-z-]+ --agent {re.escape(agent)}(\s|$)")
    return bool(commands) and all(pattern.search(one) for one in commands)


def _put_item(document: JsonDocument, wanted: Item) -> None:
    items = document.get(wanted.path)
    items = [] if items is MISSING else items
    if not isinstance(items, list):
        raise UnreadableTextError(f"{'.'.join(wanted.path)} is not a list")
    ours = [one for one in items if is_ours(one, wanted.agent)]
    if [json.dumps(one) for one in ours] == [json.dumps(wanted.value)]:
        return
    document.remove_items(wanted.path, partial(is_ours, agent=wanted.agent))
    document.append(wanted.path, wanted.value)


def _prune(document: JsonDocument | TomlDocument, path: tuple[str, ...], before: Any) -> None:
    """Take away the objects and lists that are empty now and were not there before us."""
    while path and document.get(path) in ({}, []) and (before is None or before.get(path) is MISSING):
        document.remove(path)
        path = path[:-1]


def _document(text: str, wanted: FileEdits) -> JsonDocument | TomlDocument:
    if wanted.format == "toml":
        return TomlDocument(text)
    touching = frozenset(one.path[0] for one in wanted.edits if isinstance(one, Member | Item))
    return JsonDocument(text, touching=touching)


def _commands(value: Any) -> Sequence[str]:
    if isinstance(value, dict):
        own = [value["command"]] if isinstance(value.get("command"), str) else []
        return [*own, *(one for inner in value.values() for one in _commands(inner))]
    if isinstance(value, list):
        return [one for inner in value for one in _commands(inner)]
    return []


BEGIN = "<!-- engram:begin - `engram unsetup` removes this part -->"
END = "<!-- engram:end -->"


def with_block(text: str, body: str) -> str:
    """Return the text with our part, at its end if it had none.

    Raises UnreadableTextError: the marks are there, but not as one pair.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{body.strip()}\n{END}".replace("\n", newline)
    found = _span(text)
    if found is not None:
        return text[: found[0]] + block + text[found[1] :]
    if not text.strip():
        return block + newline
    gap = "" if text.endswith("\n") else newline
    return f"{text}{gap}{newline}{block}{newline}"


def without_block(text: str) -> str:
    """Return the text without our part and the empty line before it."""
    found = _span(text)
    if found is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    for newline in ("\r\n", "\n"):
        if after.startswith(newline):
            after = after.removeprefix(newline)
            before = before.removesuffix(newline) if before.endswith(newline * 2) else before
            break
    return before + after


def _span(text: str) -> tuple[int, int] | None:
    starts, ends = text.count(BEGIN), text.count(END)
    if not starts and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if (starts, ends) != (1, 1) or end < start:
        raise UnreadableTextError(f"its marks {BEGIN} and {END} do not form one pair")
    return start, end + len(END)
