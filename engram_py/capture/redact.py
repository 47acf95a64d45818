"""Remove private passages and credentials from a text before anything else reads it."""

from __future__ import annotations

import binascii
import re
from collections import Counter
from collections.abc import Callable, Iterator

from engram_py.capture import secret_patterns as shapes
from engram_py.capture.assignments import find_assignments
from engram_py.capture.compiled import compiled
from engram_py.capture.secret_values import is_placeholder, looks_random
from engram_py.dataclass import dataclass, field, replace

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
        lowered = lower_aligned(text)
        for find in _FINDERS:
            found = sorted(find(text, lowered))
            if found:
                text = _replace(text, found, kinds)
                lowered = lower_aligned(text)
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


# --- where a password is said to be ----------------------------------------------------------------------


_URL_USER = r"""://[^\s:/@"'`<>]{0,128}:"""
_URL = _URL_USER + r"""([^\s/"'`<>]{1,256})@(?=[\w\[$<{%*-])"""
# A password with an unescaped slash; not a port followed by a path that has an @ in it.
_URL_SLASH = _URL_USER + r"""(?!\d{1,5}[/?#])([^\s"'`<>@:]{1,128}/[^\s"'`<>@:]{0,64})@(?=[\w\[$<{])"""


def _url_passwords(text: str, lowered: str) -> Iterator[Span]:
    if "://" not in text or "@" not in text:
        return
    for pattern in (_URL, _URL_SLASH):
        for match in compiled(pattern).finditer(text):
            value = match[1]
            if not is_placeholder(value) and "[REDACTED" not in value:
                yield *match.span(1), "url_password"


_HEADER = (
    r"""authorization["'`\]*\\]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}[\\"'`*]{0,3}"""
    r"""(?:(?P<scheme>[a-z][a-z-]{3,20})[ \t]{1,4})?"""
)
_BEARER = r"bearer[ \t]{1,4}(?P<scheme>)"
_CREDENTIAL = r"(?a)[A-Za-z0-9._~+/=:-]{6,}"


def _headers(text: str, lowered: str) -> Iterator[Span]:
    for word, pattern in (("authorization", _HEADER), ("bearer", _BEARER)):
        if word not in lowered:
            continue
        position = 0
        while match := compiled(pattern).search(lowered, position):
            position = match.end()
            if value := compiled(_CREDENTIAL).match(text, position):
                position = value.end()
                secret = value[0].rstrip(".:")
                likely = looks_random(secret) or (match["scheme"] == "basic" and _is_basic(secret))
                if likely and not is_placeholder(secret):
                    yield value.start(), value.start() + len(secret), "auth_header"


def _is_basic(value: str) -> bool:
    """Return whether ``value`` is base64 of ``user:password``."""
    try:
        return b":" in binascii.a2b_base64(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4))
    except binascii.Error:
        return False


_CURL_USER = r"""-(?:u|-user|-proxy-user)[ =]{0,2}["']?(?P<user>[^\s:"'-][^\s:"']{0,63}):(?P<secret>[^\s"']{3,256})"""


def _curl_users(text: str, lowered: str) -> Iterator[Span]:
    if "curl" not in lowered:
        return
    for match in compiled(_CURL_USER).finditer(text):
        near = text.rfind("curl", max(0, match.start() - 400), match.start()) >= 0
        numbers = match["user"].isdigit() and match["secret"].isdigit()  # docker run -u 1000:1000
        if near and not numbers and not is_placeholder(match["secret"]) and "[REDACTED" not in match["secret"]:
            yield *match.span("secret"), "password"


_FINDERS: tuple[Callable[[str, str], Iterator[Span]], ...] = (
    _private_passages,
    _key_blocks,
    _known_shapes,
    _url_passwords,
    _headers,
    _curl_users,
    find_assignments,
)
