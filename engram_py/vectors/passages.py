"""Texts to embed for an observation: short enough for a model to read whole. Pure."""

from __future__ import annotations

import hashlib

from engram_py.lazy import regex

# Sentence models read 256 to 512 tokens and drop the rest. On LoCoMo's sessions (3,000 characters each) one vector of
# the beginning finds .44 of the evidence at 5, one per passage of this size .72.
MAX_TOKENS = 256
MAX_PASSAGES = 64
_TITLE_CHARS = 200
_READ_CHARS = MAX_PASSAGES * MAX_TOKENS * 4  # more than an observation holds

_BREAK = regex(r"(?<=\n)|(?<=[.!?])(?= )|(?<=[。！？])")
_DENSE, _OTHER = "\u2e80", "\u0250"  # from here on a character is about a token; from there about half of one


def passages(title: str, content: str, aliases: str = "") -> list[str]:
    """Return the texts to embed for an observation, each headed by its title and a colon.

    As a line of its own the title says less to a sentence model (LoCoMo's turns: .29 against .34 at 5).
    """
    title = " ".join(title.split())[:_TITLE_CHARS]
    head = f"{title}: " if title else ""
    named = f" ({' '.join(aliases.split())[:_TITLE_CHARS]})" if aliases.strip() else ""
    texts = [head + piece.strip() for piece in _pieces(content)] or ([title] if title else [])
    return [texts[0] + named, *texts[1:]] if texts else []


def text_hash(title: str, content: str, aliases: str) -> str:
    """Return the identity of the text that ``passages`` reads: vectors of another one are out of date."""
    whole = "\0".join((title, content, aliases)).encode("utf-8", "replace")
    return hashlib.blake2b(whole, digest_size=12).hexdigest()


def tokens(text: str) -> float:
    """Return about how many tokens a text has: a quarter for a Latin letter, half for another, one for a Chinese."""
    if text.isascii():
        return len(text) / 4
    return sum(1.0 if c >= _DENSE else 0.5 if c >= _OTHER else 0.25 for c in text)


def _pieces(content: str) -> list[str]:
    """Return the content in runs of sentences of at most ``MAX_TOKENS``; a longer sentence is cut."""
    pieces: list[str] = []
    current, size = "", 0.0
    for sentence in _BREAK.split(content[:_READ_CHARS]):
        for part in _cut(sentence):
            weight = tokens(part)
            if current and size + weight > MAX_TOKENS:
                pieces.append(current)
                current, size = "", 0.0
            current += part
            size += weight
    pieces.append(current)
    return [piece for piece in pieces if piece.strip()][:MAX_PASSAGES]


def _cut(sentence: str) -> list[str]:
    if tokens(sentence) <= MAX_TOKENS:
        return [sentence] if sentence else []
    step = int(MAX_TOKENS * 4 if sentence.isascii() else MAX_TOKENS)
    return [sentence[start : start + step] for start in range(0, len(sentence), step)]
