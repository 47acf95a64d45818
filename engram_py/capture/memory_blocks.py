"""Take out of a text the memory that was injected into it, so that nothing is learned from its own echo."""

from __future__ import annotations

import re

# A block that is cut off has no end, so everything behind its opening is the block. Prose that only names the tag has
# no attribute: without an end it stays.
_BLOCK = re.compile(
    r"<\s*engram-memory\b[^<>]*>.*?<\s*/\s*engram-memory\s*>|<\s*engram-memory\s+project\s*=.*",
    re.DOTALL | re.IGNORECASE,
)
# What Engram itself injects has no fence: it goes from its heading to the next of that level.
_ENGRAM = re.compile(
    r"^[ \t>]*#{1,2} Memory from (?:Previous Sessions|This Session)\b.*(?:\n(?![ \t>]*#{1,2} ).*)*", re.MULTILINE
)


def without_memory_blocks(text: str) -> str:
    """``text`` without each ``<engram-memory …>`` block and context of Engram, quoted or cut off ones included."""
    if "engram-memory" in text.lower():
        text = _BLOCK.sub("", text)
    return _ENGRAM.sub("", text) if " Memory from " in text else text
