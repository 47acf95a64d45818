"""The few words of a text that show why it was found."""

from __future__ import annotations

from collections.abc import Iterable

PREVIEW_CHARS = 300


def preview(content: str, words: Iterable[str] = (), *, limit: int = PREVIEW_CHARS) -> tuple[str, bool]:
    """At most ``limit`` characters on one line around the first of ``words``, and whether something was cut."""
    text = " ".join(content.split())
    if len(text) <= limit:
        return text, False
    lowered = text.lower()
    found = [position for position in (lowered.find(word) for word in words) if position >= 0]
    start = max(0, min(found, default=0) - limit // 4)
    start = 0 if start < limit // 8 else start
    if start:
        start = text.find(" ", start) + 1 or start
    room = limit - (1 if start else 0) - 1
    piece = text[start : start + room]
    if start + room < len(text):
        piece = piece[: piece.rfind(" ")] if piece.rfind(" ") > room // 2 else piece
        piece += "…"
    return ("…" if start else "") + piece, True
