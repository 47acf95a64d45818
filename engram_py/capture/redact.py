"""Remove private passages and credentials from a text before anything else reads it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from engram_py.capture import secret_patterns as shapes
from engram_py.capture.assignments import find_assignments, find_generated
from engram_py.capture.compiled import compiled
from engram_py.capture.secret_places import PLACES
from engram_py.capture.secret_values import looks_random
from engram_py.dataclass import dataclass, field, replace
from engram_py.errors import InvalidArgumentError

PRIVATE = "[REDACTED]"
CUT_MARGIN_CHARS = 8_192  # longer than any secret
_PASSES = 8  # taking one secret out may uncover the edge of another

Span = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    kinds: dict[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(self.kinds.values())


def redact(text: str) -> Redacted:
    """``text`` without ``<private>`` passages (``[REDACTED]``) and credentials (``[REDACTED:kind]``).

    A tag or a key block that is never closed hides everything after it. Redacting twice changes nothing more.
    """
    kinds: Counter[str] = Counter()
    for _ in range(_PASSES):
        before = text
        seen = _ascii_aligned(text)
        lowered = lower_aligned(seen)
        for find in _FINDERS:
            found = sorted(find(seen, lowered))
            if found:
                text = _replace(text, found, kinds)
                seen = _ascii_aligned(text)
                lowered = lower_aligned(seen)
        if text == before:
            break
    return Redacted(text, dict(kinds))


def redact_head(text: str, limit: int) -> Redacted:
    """``redact`` of the first ``limit`` characters. When there are more, the last 8,192 of them are dropped afterwards.

    At the cut stands perhaps half of a secret, which nothing recognises, and what is taken out before it moves it to
    where a caller that keeps less than the limit would keep it.
    """
    if len(text) <= limit:
        return redact(text)
    hidden = redact(text[:limit])
    if hidden.text.endswith((PRIVATE, "[REDACTED:private_key]")):
        return hidden  # what is never closed has hidden the cut
    return replace(hidden, text=hidden.text[:-CUT_MARGIN_CHARS])


def refuse_secret(field: str, name: str) -> None:
    """Raise InvalidArgumentError where the name of something would keep a secret: taken out of it, it names nothing."""
    if redact(name).count:
        raise InvalidArgumentError(field, PRIVATE, expected="a name without a secret in it")


def without_private(text: str) -> str:
    """``text`` with only its ``<private>`` passages replaced."""
    return _replace(text, sorted(_private_passages(text, text.lower())), Counter())


def _replace(text: str, found: list[Span], kinds: Counter[str]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, kind in found:
        if start < done:
            continue
        parts += text[done:start], PRIVATE if kind == "private_tag" else f"[REDACTED:{kind}]"
        kinds[kind] += 1
        done = end
    return "".join([*parts, text[done:]])


def lower_aligned(text: str) -> str:
    """``text`` in lower case with every character where it was; one letter would become two."""
    return text.replace("\u0130", "I").lower()


# Blanks that are no line breaks, and the full-width forms of ASCII.
_AS_ASCII = dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " ")
_AS_ASCII |= {0xFF01 + at: chr(0x21 + at) for at in range(94)}


def _ascii_aligned(text: str) -> str:
    """Return ``text`` with every blank and sign as ASCII writes it, and every character where it was."""
    return text if text.isascii() else text.translate(_AS_ASCII)


# --- passages ---------------------------------------------------------------------------------------------


_PRIVATE_TAG = r"(?ia)<\s{0,99}(?P<close>/?)\s{0,99}private(?:\s[^<>]*)?(?<!/)>"


def _private_passages(text: str, lowered: str) -> Iterator[Span]:
    if "private" not in lowered or "<" not in text:
        return
    depth = start = 0
    for tag in compiled(_PRIVATE_TAG).finditer(text):
        if not tag["close"]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end(), "private_tag"
    if depth:
        yield start, len(text), "private_tag"


_KEY_BEGIN = r"(?a)-----?[ ]?BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?[ ]?-----?"
_KEY_END = r"(?a)-----?[ ]?END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?[ ]?-----?"
_KEY_MATERIAL = r"""[ \t"']{0,4}(?:$|[\r\n]|\\+[nr]|[A-Za-z0-9+/=]{24})"""
_PUTTY_BEGIN = r"(?a)PuTTY-User-Key-File-\d[^\n]*"
_PUTTY_END = r"(?a)Private-(?:MAC|Hash):[ \t]*[0-9A-Fa-f]+"


def _key_blocks(text: str, lowered: str) -> Iterator[Span]:
    if "private key" in lowered:
        yield from _blocks(text, compiled(_KEY_BEGIN), compiled(_KEY_END))
    if "putty-user" in lowered:
        yield from _blocks(text, compiled(_PUTTY_BEGIN), compiled(_PUTTY_END))


def _blocks(text: str, begin: re.Pattern[str], end: re.Pattern[str]) -> Iterator[Span]:
    """From each ``begin`` to its ``end``; without one to the end of the text, unless prose only mentions it."""
    position = 0
    last = end.search(text)
    while start := begin.search(text, position):
        if last and last.start() < start.end():
            last = end.search(text, start.end())
        following = begin.search(text, start.end())
        if last and not (following and following.start() < last.start()):
            yield start.start(), last.end(), "private_key"
            position = last.end()
        elif compiled(_KEY_MATERIAL).match(text, start.end()):
            yield start.start(), len(text), "private_key"
            return
        else:
            position = start.end()


# --- shapes ----------------------------------------------------------------------------------------------


def _known_shapes(text: str, lowered: str) -> Iterator[Span]:
    runs = shapes.long_runs(text)
    if not runs:
        return
    for family, kind, prefixes, body in shapes.FAMILIES:
        if family in runs:
            for prefix in prefixes:
                if prefix in runs:
                    yield from _spans(shapes.prefixed(prefix, body), text, kind)
    if "eyJ" in runs:
        yield from _spans(shapes.prefixed("eyJ", shapes.JWT_BODY, r"\w-"), text, "jwt")
    for kind, literal, expression in shapes.FLOATING:
        if literal in runs and compiled(expression).search(runs):
            yield from _spans(compiled(expression), text, kind)
    yield from _ambiguous_keys(text, runs)


def _spans(pattern: re.Pattern[str], text: str, kind: str) -> Iterator[Span]:
    group = "secret" if "secret" in pattern.groupindex else 0
    for match in pattern.finditer(text):
        yield *match.span(group), kind


def _ambiguous_keys(text: str, runs: str) -> Iterator[Span]:
    """``sk-`` also begins CSS classes and ``SK`` anything, so these two must look the part."""
    if "sk-" in runs:
        for match in shapes.prefixed("sk-", shapes.SK_BODY).finditer(text):
            kind = shapes.SK_KINDS.get(match[0][: match[0].index("-", 3) + 1]) if "-" in match[0][3:12] else None
            if kind or looks_random(match[0]):
                yield *match.span(), kind or "openai_key"
    if "SK" in runs:
        for match in shapes.prefixed("SK", r"[0-9a-f]{32}(?!\w)").finditer(text):
            near = text[max(0, match.start() - 200) : match.end() + 200].lower()
            before = text[max(0, match.start() - 8) : match.start()]
            if "twilio" in near or before.rstrip(" \t\"'`").endswith(("=", ":")):
                yield *match.span(), "twilio_key"


_FINDERS: tuple[Callable[[str, str], Iterator[Span]], ...] = (
    _private_passages,
    _key_blocks,
    _known_shapes,
    *PLACES,
    find_assignments,
    find_generated,
)
