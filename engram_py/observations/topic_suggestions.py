"""Suggests a topic key for an observation that was saved without one: its family and its subject."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from engram_py.capture.redact import without_private
from engram_py.errors import EmptyFieldError
from engram_py.text.normalize import TOPIC_KEY_LIMIT_CHARS

FAMILY_OF_TYPE = {
    name: family
    for family, names in {
        "architecture": ("architecture", "design", "adr", "refactor"),
        "bug": ("bug", "bugfix", "fix", "incident", "hotfix"),
        "decision": ("decision",),
        "pattern": ("pattern", "convention", "guideline"),
        "config": ("config", "setup", "infra", "infrastructure", "ci"),
        "discovery": ("discovery", "investigation", "root_cause", "root-cause"),
        "learning": ("learning", "learn"),
        "session": ("session_summary",),
    }.items()
    for name in names
}

# In order of precedence; a stem and the endings with which it is still the same word.
_KEYWORDS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "bug",
        (
            ("bug", "s|gy|fix|fixes|fixed"),
            ("fix", "es|ed|ing"),
            ("panic", "s|ked|king"),
            ("error", "s|ed"),
            ("crash", "es|ed|ing"),
            ("regress", "ion|ions|ed|es"),
            ("incident", "s"),
            ("hotfix", "es|ed"),
        ),
    ),
    (
        "architecture",
        (
            ("architectur", "e|es|al"),
            ("design", "s|ed|ing"),
            ("adr", "s"),
            ("boundar", "y|ies"),
            ("hexagonal", ""),
            ("refactor", "s|ed|ing|ings"),
        ),
    ),
    (
        "decision",
        (
            ("decision", "s"),
            ("tradeoff", "s"),
            ("trade-off", "s"),
            ("chose", "n"),
            ("choos", "e|es|ing"),
            ("decid", "e|es|ed|ing"),
        ),
    ),
    ("pattern", (("pattern", "s"), ("convention", "s"), ("naming", ""), ("guideline", "s"))),
    (
        "config",
        (
            ("config", "s|ure|ures|ured|uring|uration|urations|urable"),
            ("setup", "s"),
            ("environment", "s"),
            ("env", "s"),
            ("docker", "file|files|ized|ised"),
            ("pipeline", "s"),
        ),
    ),
    (
        "discovery",
        (
            ("discover", "y|ies|s|ed|ing"),
            ("investigat", "e|es|ed|ing|ion|ions"),
            ("found", ""),
            ("root cause", "s"),
            ("root-cause", "s"),
        ),
    ),
    ("learning", (("learn", "ed|t|ing|ings"),)),
)
_NEED_ENDING = frozenset({"architectur", "boundar", "choos", "decid", "discover", "investigat", "learn", "regress"})

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Marks that the search index takes off Latin letters; in other scripts a mark is a vowel, or makes another letter.
_MARKED = re.compile("(?<=[a-z])[\u0300-\u036f]+")
_REDACTED = re.compile(r"\[REDACTED(?::\w+)?\]")


def suggest_topic_key(*, type: str, title: str, content: str) -> str:
    """``family/subject``: the family from the type or else from the words, the subject from the title.

    Raises:
        EmptyFieldError: title and content are both blank.
    """
    if not title.strip() and not content.strip():
        raise EmptyFieldError("title or content")
    family = FAMILY_OF_TYPE.get(type.strip().lower()) or _family_of_words(f"{title} {content}") or _own_family(type)
    room = TOPIC_KEY_LIMIT_CHARS - len(family) - 1
    return f"{family}/{_subject(family, title, content)[:room].strip('-')}"


def _family_of_words(text: str) -> str | None:
    words = _HUMP.sub(" ", text).lower()
    for family, keywords in _KEYWORDS:
        for stem, endings in keywords:
            if stem in words and _keyword(stem, endings).search(words):
                return family
    return None


@cache
def _keyword(stem: str, endings: str) -> re.Pattern[str]:
    """The stem as a whole word; ``_`` and ``-`` end a word as a blank does."""
    optional = "" if stem in _NEED_ENDING else "?"
    return re.compile(rf"{stem}(?<![^\W_]{stem})(?:{endings}){optional}(?![^\W_])")


def _own_family(type: str) -> str:
    slug = _slug(type)[:40].strip("-")
    return slug if slug and slug != "manual" else "topic"


def _subject(family: str, title: str, content: str) -> str:
    source = _plain(title)
    if not any(map(str.isalnum, source)):
        source = " ".join(_plain(content).split()[:8])
    return _slug(source)[:100].strip("-").removeprefix(f"{family}-") or "general"


def _plain(text: str) -> str:
    text = _REDACTED.sub(" ", without_private(text))
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def _slug(text: str) -> str:
    """Letters and digits of any script, joined by dashes; Latin letters as the search index has them, so that a word of
    the key is found however it is accented (``Prüfläufe`` is ``pruflaufe``)."""
    kept: list[str] = []
    for char in _MARKED.sub("", unicodedata.normalize("NFD", text.lower())):
        is_mark = unicodedata.category(char).startswith("M")
        if char.isalnum() or (is_mark and kept and kept[-1] != "-"):
            kept.append(char)
        elif kept and kept[-1] != "-":
            kept.append("-")
    return unicodedata.normalize("NFC", "".join(kept)).strip("-")
