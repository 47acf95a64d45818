"""Finds secrets by the place they stand in: URLs, headers, cookies and the flags of programs."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator

from engram_py.capture.compiled import compiled
from engram_py.capture.secret_values import is_mixed, is_placeholder, looks_random

Span = tuple[int, int, str]


_URL_USER = r"""://(?!\[REDACTED:)[^\s:/@"'`<>]{0,128}:"""
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


_URL_USER_ALONE = r"""://([^\s:/@"'`<>?#]{16,512})(?=(?::[\w-]{0,32})?@)"""
_PARAMETER = r"""(?a)[?&#;]([\w.~%-]{1,48})=([\w.~%+/=-]{12,2048})"""
_TELLING_PARAMETER = (
    r"(?i)(?:sig|signature|token|key|auth|code|secret|pass(?:word)?|pwd|jwt|session|credential|ticket|state)$"
)


def _url_parts(text: str, lowered: str) -> Iterator[Span]:
    """Yield tokens that are the user of a URL, and parameters that let in whoever has the URL."""
    if "://" not in text:
        return
    for match in compiled(_URL_USER_ALONE).finditer(text):
        if looks_random(match[1]) and not is_placeholder(match[1]):
            yield *match.span(1), "url_password"
    for match in compiled(_PARAMETER).finditer(text):
        if compiled(_TELLING_PARAMETER).search(match[1]) and looks_random(match[2]) and not is_placeholder(match[2]):
            yield *match.span(2), "url_secret"


_COOKIE_START = r"""[\\"'`]{0,4}(?=[^\s=;"']{1,128}=)"""
_COOKIES = (r"""cookie(?:["'\\]{0,4}[ \t]{0,4}[:=,][ \t]{0,4}|[ ])""" + _COOKIE_START, r" -b[ =]?" + _COOKIE_START)
_COOKIE_PAIR = r"""[ \t]*[^\s=;"'`<>]{1,128}(?:=(?P<value>[^\s;"'`<>\\]{0,4096}))?;?"""


def _cookies(text: str, lowered: str) -> Iterator[Span]:
    if "cookie" not in lowered and ("curl" not in lowered or " -b" not in lowered):
        return
    for pattern in _COOKIES:
        position = 0
        while match := compiled(pattern).search(lowered, position):
            position = match.end()
            while pair := compiled(_COOKIE_PAIR).match(text, position):
                position = pair.end()
                if pair["value"] and looks_random(pair["value"]) and not is_placeholder(pair["value"]):
                    yield *pair.span("value"), "cookie"


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


_USER = (
    r"""-(?:u|a|-user|-proxy-user|-auth)[ =]{0,2}["']?(?P<user>[^\s:"'-][^\s:"']{0,63}):(?P<secret>[^\s"']{3,256})?"""
)


def _curl_users(text: str, lowered: str) -> Iterator[Span]:
    if "curl" not in lowered:
        return
    for match in compiled(_USER).finditer(text):
        near = text.rfind("curl", max(0, match.start() - 400), match.start()) >= 0
        group = "secret" if match["secret"] else "user"  # a token stands alone, as `curl -u TOKEN:`
        numbers = match["user"].isdigit() and match[group].isdigit()  # docker run -u 1000:1000
        if not near or numbers or is_placeholder(match[group]) or "[REDACTED" in match[group]:
            continue
        if group == "secret" or looks_random(match["user"]):
            yield *match.span(group), "password"


# The value of -p is a password: at once after it for mysql, which reads a word that stands apart as the database.
_LOGIN = (
    r"""(?a)(?:\b(?:mysql|mariadb)\w*[^\n|;&]{0,200}?\s-p|\b(?:sshpass|login)\b[^\n|;&]{0,200}?\s-p[ =]?)"""
    r"""(?!\w+-)(["']?)(?P<secret>[^\s"']{6,256})\1"""
)


def _logins(text: str, lowered: str) -> Iterator[Span]:
    if " -p" not in lowered or not any(name in lowered for name in ("mysql", "mariadb", "sshpass", "login")):
        return
    for match in compiled(_LOGIN).finditer(text):
        if is_mixed(match["secret"]) and not is_placeholder(match["secret"]) and "[REDACTED" not in match["secret"]:
            yield *match.span("secret"), "password"


PLACES: tuple[Callable[[str, str], Iterator[Span]], ...] = (
    _url_parts,
    _url_passwords,
    _headers,
    _cookies,
    _curl_users,
    _logins,
)
