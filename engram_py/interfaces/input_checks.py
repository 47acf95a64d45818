"""Checks of arguments that every interface makes: names that nobody knows, half characters, names of documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

MOST_UNKNOWN = 5
_NAME_CHARS = 60


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
