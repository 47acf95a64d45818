"""Questions about what a person decided, said or wants: "what did Ines decide about the threshold?"."""

from __future__ import annotations

from engram_py.text import cues
from engram_py.text.prompt_text import PromptText, listed

_LATER = "..."
_MOST_NAMES = 4
_JOINS = frozenset({"and", "or", "y", "und", "et", "e", "en", "и"})
# Between the name and what it did.
_BETWEEN = frozenset(
    {"really", "actually", "finally", "already", "ever", "also", "even", "just", "recently", "originally"}
)


def said_by(heard: PromptText) -> str | None:
    """What was heard, name and all, for a prompt that asks this; what stands around the name is cut, the name stays."""
    for before, after in cues.SAID_BY:
        for phrase in listed(before):
            at = heard.find(phrase)
            if at is None:
                continue
            start = at + len(phrase.split())
            stop = _name_until(heard, start)
            if stop > start and (behind := _behind(heard, stop, after)) is not None:
                heard.cut_words(at, start)
                heard.cut_words(*behind)
                if _is_somebody(heard, start, stop):
                    heard.cut_words(start, stop)
                return " ".join(heard.words[at : max(stop, behind[1])])
    return None


def _name_until(heard: PromptText, start: int) -> int:
    """Where a name that begins at ``start`` ends: "Ines", "Ada Lovelace", "Ines and Joost", or "the team"."""
    for stop in (start + 2, start + 1):
        if _is_somebody(heard, start, stop):
            return min(stop, len(heard.words))
    stop = start
    for at in range(start, min(start + _MOST_NAMES, len(heard.words))):
        if heard.begins_with_a_capital(at):
            stop = at + 1
        elif heard.words[at] not in _JOINS:
            break
    return stop


def _is_somebody(heard: PromptText, start: int, stop: int) -> bool:
    return " ".join(heard.words[start:stop]) in listed(cues.SOMEBODY)


def _behind(heard: PromptText, at: int, after: str) -> tuple[int, int] | None:
    """Where what somebody did stands behind the name; at once, or later where that is how it is said."""
    verbs = listed(after)
    if not verbs:
        return at, at
    words = heard.words
    while at < len(words) and words[at] in _BETWEEN:
        at += 1
    places = range(at, len(words)) if _LATER in verbs else (at,)
    for place in places:
        for count in (2, 1):
            found = words[place : place + count]
            if " ".join(found) in verbs:
                return place, place + len(found)
    return None
