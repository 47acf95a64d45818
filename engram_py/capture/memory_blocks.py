"""Take out of a text the memory that was injected into it, so that nothing is learned from its own echo."""

from __future__ import annotations

import re

# A block that is cut off has no end, so everything behind its opening is the block. Prose that only names the tag has
# no attribute: without an end it stays.
_BLOCK = re.compile(
    r"<\s*engram-memory\b[^<>]*>.*?<\s*/\s*engram-memory\s*>|<\s*engram-memory\s+project\s*=.*",
    re.DOTALL | re.IGNORECASE,
)


def without_memory_blocks(text: str) -> str:
    """``text`` without each ``<engram-memory …>`` block, quoted, indented or cut off ones included."""
    return _BLOCK.sub("", text) if "engram-memory" in text.lower() else text
