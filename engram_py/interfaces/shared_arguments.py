"""What a save and an update take, by names that every interface uses; and checks of arguments that all share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

MOST_UNKNOWN = 5
_NAME_CHARS = 60


class FieldArgument(NamedTuple):
    """An argument that sets a field: a tool, a route and a command take it (``memory/observations/arguments.py`` reads it).

    ``tool`` is what the list of tools says of it; None: it is taken and not listed. ``option`` is the option of a
    command with the name of its value, and ``help`` what is said of that; without help the command has none.
    """

    name: str
    tool: str | None = ""
    option: str = ""
    help: str = ""
    kind: Any = str
    default: object = None
    needed: bool = False


SAVE = (
    FieldArgument("title", "Verb + what, e.g. Fixed token refresh race.", "", "The title, one line.", needed=True),
    FieldArgument(
        "content", "Lines **What**, **Why**, **Where** (files), **Learned**.", "",
        "The text; - reads standard input.", needed=True,
    ),
    FieldArgument(
        "type", "decision, bugfix, pattern, discovery, architecture, config, preference, ...", "--type",
        "decision, bugfix, pattern, ...", default="manual",
    ),
    FieldArgument(
        "topic_key", "family/name of an evolving answer; saving to it again revises it.", "--topic",
        "Topic key; saving to it again revises the observation.",
    ),
    FieldArgument("scope", "project, personal (yours, every project) or global."),
    FieldArgument("project", "Default: the current one."),
    FieldArgument("session_id", "Default: this run of the server.", "--session", "The session it belongs to."),
    FieldArgument(
        "aliases", "More words to find it by.", "--alias", "Another word to find it by; may be repeated.",
        list,
    ),
    FieldArgument(
        "files", "What it is about: path or path:10-20.", "--file",
        "A file it is about: path or path:10-20; may be repeated.", list,
    ),
    FieldArgument("operation_id", None, "--operation-id", "A second save with the same id returns the first result."),
    FieldArgument("tool_name", None),
)  # fmt: skip
UPDATE = (
    FieldArgument("title", "", "--title", "New title."),
    FieldArgument("content", "The whole new text.", "--content", "The whole new text; - reads standard input."),
    FieldArgument(
        "find", "Literal text to replace in the content.", "--find",
        "Literal text to replace everywhere in the content.",
    ),
    FieldArgument("replace", "The text that replaces it.", "--replace", "The replacement for --find."),
    FieldArgument("type", "", "--type", "New type."),
    FieldArgument("scope"),
    FieldArgument("topic_key", "", "--topic", "New topic key."),
    FieldArgument("archived", kind=bool),
    FieldArgument(
        "salience", None, "--salience", "Weight among equal hits, 0 to 1; default for new ones: 0.5.", float,
    ),
    FieldArgument(
        "expires_at", None, "--expires DATE", "The last day on which it is shown unasked, or `never`.",
    ),
)  # fmt: skip


def names_document(text: str) -> bool:
    """Return whether a text is the name of a document, and no number: ``commit:1a2b3c4``, ``docs/adr/7.md:12``,
    ``*.md``."""
    return any(char in text for char in "./:*,#") and any(char.isalpha() or char == "*" for char in text)


def unknown_names(given: Iterable[str], known: Collection[str], *, kind: str = "argument") -> list[str]:
    """Return a sentence for each name of ``given`` that is not ``known``, with the one it resembles."""
    strange = [as_text(name[:_NAME_CHARS]) for name in given if name not in known]
    notes: list[str] = []
    for name in strange[:MOST_UNKNOWN]:
        near = nearest(name, known)
        resembles = f', did you mean "{near}"?' if near else ""
        notes.append(f'unknown {kind} "{name}" was ignored{resembles}')
    if len(strange) > MOST_UNKNOWN:
        notes.append(f"{len(strange) - MOST_UNKNOWN} more unknown {kind}s were ignored")
    return notes


def nearest(name: str, known: Collection[str]) -> str:
    """Return the one of ``known`` that a name resembles; empty for none."""
    import difflib

    return next(iter(difflib.get_close_matches(name[:_NAME_CHARS], sorted(known), n=1)), "")


def is_text(text: str) -> bool:
    """Return whether a text is whole: half of a surrogate pair can neither be stored nor sent back."""
    return text.isascii() or as_text(text) == text


def as_text(text: str) -> str:
    """Return the text with a question mark for each half of a pair."""
    return text.encode("utf-8", "replace").decode()


def mended_names(given: Mapping[str, object]) -> list[str]:
    """Return a sentence for each argument that is read with question marks in it."""
    broken = [name for name, value in given.items() if isinstance(value, str) and not is_text(value)]
    return [f'{as_text(name[:_NAME_CHARS])} held half a character, which was read as "?"' for name in broken]
