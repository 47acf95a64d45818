"""What an order is about: the words behind its verb, and whether it is to do what a session left to be done."""

from __future__ import annotations

from engram_py.context.gate.titles import telling, telling_words
from engram_py.context.gate.verbs import NOTHING
from engram_py.context.gate.work import after_verb
from engram_py.recall.score.topics import words_held
from engram_py.text import cues
from engram_py.text.prompt_text import PromptText, listed

_MOST_THINGS, _LEAST, _LEAST_SAID = 2, 2, 3


def things_ordered(prompt: str) -> list[str]:
    """The one or two things that an order names."""
    order = ordered(prompt)
    return order[1] if order is not None and len(order[1]) <= _MOST_THINGS else []


def is_step_of(order: tuple[str, list[str]], step: str) -> bool:
    """Whether an order is to do what a session left to be done: one has all words of the other, two at least; or the
    one word of the order stands in it, and both begin with the same verb, or with two that tell a version."""
    verb, words = order
    held = words_held(step, words)
    step_words = PromptText(step).words
    end = after_verb(step_words)
    if len(held) >= _LEAST:
        own = telling([word for word in step_words[end:] if word not in listed(NOTHING)])
        return len(held) == len(words) or len(words_held(" ".join(words), own)) == len(own)
    verbs = {verb, step_words[end - 1]} if end else set()
    return len(held) == len(words) and bool(verbs) and (len(verbs) == 1 or verbs <= listed(cues.VERSIONS).keys())


def ordered(prompt: str) -> tuple[str, list[str]] | None:
    """The verb of an order and the words that say what it is about; None of what orders nothing.

    Where no verb of work begins it, the first word of three that tell something may be one: "replay the gap of May".
    """
    heard = PromptText(prompt)
    end = after_verb(heard.words)
    words = [word.text for word in telling_words(order_in(heard) or "")]
    if end:
        return (heard.words[end - 1], words) if words else None
    polite, others = listed(cues.POLITE), (listed(cues.ASKS), listed(cues.WANTS_WORDS))
    first = next((word for word in heard.words if word not in polite), "")
    words = [word.text for word in telling_words(heard.text)]
    asks = "?" in heard.text or any(first in one for one in others)
    return None if asks or len(words) < _LEAST_SAID else (first, words)


def order_in(heard: PromptText) -> str | None:
    """What an order is about: its text behind the verb, None where no verb of work begins it."""
    end = after_verb(heard.words)
    if not end:
        return None
    heard.cut_words(0, end)
    return heard.rest
