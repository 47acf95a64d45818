"""Recognise prompts that need no memory, without opening it."""

from __future__ import annotations

from engram_py.capture.host_formats import typed

# What a person types to keep an agent going; not kept as a prompt and not searched for.
_GOING_ON = """
y yes yep yeah ok okay k sure fine good great perfect thanks thx ty no n nope stop wait continue go next proceed retry
again done undo lgtm ja nein weiter danke si sí vale oui non merci sim não はい いいえ 续 继续 好 好的 是 да нет
"""
_GOING_ON_TOGETHER = """
go on|go ahead|do it|do that|keep going|thank you|yes please|please continue|please proceed|try again|carry on
continue please|mach weiter|weitermachen|bitte weiter|weiter bitte|continúa|continua|sigue|sigamos|continuar
continua por favor|continúa por favor|continue por favor|continuons|continuez|poursuis|reprends|reprenons|on continue
prosegui|продолжай|続けて|계속|sounds good|looks good|ok go|ok continue|yes continue|yes do it|yes go ahead
"""
TRIVIAL = frozenset(_GOING_ON.split()) | {
    phrase.strip() for line in _GOING_ON_TOGETHER.split("\n") for phrase in line.split("|") if phrase.strip()
}
LEAST_CHARS = 3
_LONGEST = 40


def is_trivial(prompt: str) -> bool:
    """Return whether a prompt only keeps an agent going, is a command of its own, or was written by a program."""
    text = typed(prompt)[: 10 * _LONGEST]
    if text.startswith("/") and "\n" not in text and "/" not in text[1:].partition(" ")[0]:
        return True  # "/clear"; not "/home/ada/x.py fails"
    return len(text) <= _LONGEST and (
        text.rstrip(".!… ").lower() in TRIVIAL or (len(text) < LEAST_CHARS and text.isascii())
    )


def may_teach(text: str) -> bool:
    """Return whether a message lists learnings, as ``capture/passive.py`` reads them."""
    from engram_py.capture.passive import parse_learnings

    return bool(parse_learnings(text))
