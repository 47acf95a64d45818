"""Write a digest as the text of a session's summary. Pure."""

from __future__ import annotations

import re

from engram_py.distill.values import Digest
from engram_py.lazy import regex

MOST_SENTENCES = 3
_SENTENCE = regex(r".+?(?:[.!?](?=\s|$)|[。！？]|$)", re.DOTALL)
_SECTIONS = (("Done", "done"), ("Decisions", "decisions"), ("Next Steps", "next_steps"), ("Topics", "topics"))


def text_of(digest: Digest) -> str:
    """Return the summary in at most three sentences, then a list below each heading that has any, as
    ``sessions/summary_steps.py`` reads them."""
    parts = [three_sentences(digest.summary)]
    if digest.goal:
        parts.append(f"## Goal\n{_line(digest.goal)}")
    for heading, name in _SECTIONS:
        items = [_line(item) for item in getattr(digest, name)]
        if items:
            parts.append(f"## {heading}\n" + "\n".join(f"- {item}" for item in items))
    return "\n\n".join(part for part in parts if part)


def three_sentences(text: str) -> str:
    """Return the first three sentences on one line."""
    found = [" ".join(one.split()) for one in _SENTENCE.findall(" ".join(text.split()))]
    return " ".join([one for one in found if one][:MOST_SENTENCES])


def _line(text: str) -> str:
    """Return an item on one line that opens no section of its own."""
    return " ".join(text.split()).lstrip("#").strip()
