"""Other forms and names of English words: *choose* finds *chose*, and *authentication* finds *auth*."""

from __future__ import annotations

from functools import cache

from engram_py.text.word_lists import read_lines


def forms(word: str) -> tuple[str, ...]:
    """Return the other forms and names of a lower-case word, none for most."""
    return tuple(other for other in _table("forms", "abbreviations", "either").get(word, ()) if other != word)


def synonyms(word: str) -> tuple[str, ...]:
    """Return what others may call the same thing, nothing for most words."""
    return tuple(other for other in _table("synonyms").get(word, ()) if other != word)


@cache
def _table(*lists: str) -> dict[str, tuple[str, ...]]:
    groups = [group.split() for name in lists for line in read_lines(name) for group in line.split("|")]
    found: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for form in group:
            found[form] = tuple(dict.fromkeys((*found.get(form, ()), *group)))
    for form, known in list(found.items()):
        for ending in ("s", "ing", "ed"):  # choosing, builds, removed: Porter folds them into the base
            base = form[:-1] if ending != "s" and form.endswith("e") else form
            found.setdefault(base + ending, known)
    return found
