"""Text made of word lists, for machines without the commit messages: frequencies fall as in real prose."""

from __future__ import annotations

import random
from itertools import accumulate, product

_VERBS = ("fix", "add", "remove", "rename", "check", "handle", "avoid", "allow", "move", "split", "restore", "cache")
_COMMON = """
the a of to and in is that it for when with on as was this not be by from are which if an at or so then only after
before while because every would should could must never again other first last same new old
"""
_TRADE = """
queue buffer timeout retry token session index lock thread packet header port driver cache socket parser migration
schema column request response client server worker batch offset cursor leak race overflow deadlock flag option default
path build test release config counter memory pointer length bound state event callback
"""
_PROSE, _TECHNICAL = _COMMON.split(), _TRADE.split()
_SYLLABLES = (
    "ba",
    "co",
    "di",
    "fe",
    "gu",
    "ha",
    "jo",
    "ki",
    "lu",
    "me",
    "no",
    "pa",
    "qui",
    "ro",
    "su",
    "ta",
    "vi",
    "wex",
)
_MADE = ["".join(parts) for parts in product(_SYLLABLES, repeat=3)]
_ALL = _PROSE + _TECHNICAL + _MADE
# Zipf: the n-th word occurs about 1/n as often as the first.
_WEIGHTS = list(accumulate(1 / (rank + 3) for rank in range(len(_ALL))))


def note(number: int) -> tuple[str, str]:
    """The title and the content of the note of that number, always the same."""
    dice = random.Random(number)
    about = dice.choices(_TECHNICAL + _MADE[:400], k=dice.randint(2, 5))
    title = f"{_area(dice)}: {dice.choice(_VERBS)} {' '.join(about)}"
    paragraphs = [_paragraph(dice) for _ in range(dice.randint(1, 4))]
    return title, "\n\n".join([*paragraphs, f"Seen in {identifier(dice)}()."])


def identifier(dice: random.Random) -> str:
    """A name such as code has, one of a few million."""
    return f"{dice.choice(_MADE)}_{dice.choice(_TECHNICAL)}_{dice.choice(_SYLLABLES)}{dice.randrange(100)}"


def _area(dice: random.Random) -> str:
    return f"{dice.choice(_TECHNICAL)}/{dice.choice(_MADE[:60])}"


def _paragraph(dice: random.Random) -> str:
    return " ".join(dice.choices(_ALL, cum_weights=_WEIGHTS, k=dice.randint(20, 70))).capitalize() + "."
