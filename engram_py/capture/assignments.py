"""Finds values that stand where a secret's name says so: evidence of the name times evidence of the value.

A name that ends in ``password`` and a sign of assignment need little of the value. A name that only holds such a word
(``JWT_SECRET_OLD``) needs a value that looks random. A value that shows by itself that it was generated needs no more
than such a word in the same line, in whichever language the rest of the sentence is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from engram_py.capture.compiled import compiled
from engram_py.capture.plain import PASSWORD_NAMES, SECRET_NAMES, mixed_runs
from engram_py.capture.secret_values import (
    has_sign,
    is_code,
    is_generated,
    is_mixed,
    is_path,
    is_placeholder,
    is_scrambled,
    is_wordy,
    looks_random,
)

# Searched in lower-cased text, each with the rest of the name it may begin.
_RESTS = {"pass": r"(?:words?|wd|phrase|wort|code)?", "contrase": r"(?:ña|na)", "cred": r"(?:ential)?s?", "jelszó": ""}
_STEMS = {name: _RESTS.get(name, "") for name in (*PASSWORD_NAMES, *SECRET_NAMES)} | {"mot de passe": ""}
_PASSWORDS = frozenset((*PASSWORD_NAMES, "mot de passe"))
_WHOLE_WORDS = frozenset({"pass", "pwd", "pw", "psk", "auth", "cred", "creds", "clave", "salt", "parola", "pat"})

_QUOTE = r"""(?:\\{0,4}["'`]|&(?:quot|apos|\#34|\#39);)"""
_VALUE_WORD = rf"""(?:[\s,;{{]{{1,12}}-?{_QUOTE}?(?:value|default){_QUOTE}?(?=[ \t]{{0,3}}[=:]))"""
_AFTER_NAME = (
    rf"""(?:\[\d{{0,4}}\])?(?:[)\]*\\]|{_QUOTE}){{0,4}}"""
    rf"""(?:{_VALUE_WORD}|[ \t]?:[ \t]?[a-z_][\w.\[\]|]{{0,30}}(?=[ \t]=)|[ \t](?:string|str)(?=[ \t]=))?"""
    r"""(?P<sep>[ \t]{0,8}(?:=>|:=|={1,3}|!={1,2}|->|[:|>(,→])"""
    r"""|[ \t]{1,4}(?:[a-z]{2,12}[ \t]){0,4}(?:is|be|was|est|es|ist|lautet)(?:[ \t]?:|(?=[ \t])))[ \t*_]{0,8}"""
    r"""(?P<below>(?:[|>][+-]?\d?[ \t]*)?\r?\n[ \t]{0,40})?"""
)
# What a name goes on with when it does not end in the secret's word: `_OLD`, `s`, `-for-ci`; a number is no more name.
_NUMBERED = r"[_-]?\d{1,2}$"
_MORE = r"s?[_-]|s$|\d?[A-Z]"
# Such a name says that the value may be seen, however random it looks.
_PUBLIC = r"""(?xa)(?i:public | publishable | idempotency | cache | fingerprint | checksum | digest | sha\d | md5 | hash
      | (?:^|[_-])(?:ids?|kid|path|file(?:name)?|ur[il]|arn|version)$) | Ids?$"""
_FLAG = (
    r"--(?:[a-z0-9]{1,20}-){0,4}(?P<stem>pass|pwd|secret|token|key|auth)(?P<rest>word|wd|phrase)?(?P<sep>[ \t]{1,4})"
)
_KEY_OF = (
    r"(?:api|access|secret|private|auth|account|signing|encryption|encrypt|master|service|admin|storage|app|client"
    r"|session|jwt|license|subscription|webhook|hmac|ssh|root)[_\-. ]?$"
)
_QUOTED = rf"""(?:[fbrFBR]{{1,2}}|@)?({_QUOTE})((?:(?!\1)(?:\\.|[^\n\\])){{1,512}})\1(?!\w)"""
_BARE = rf"""(?P<open>{_QUOTE}{{0,3}})(?P<value>[^\s"'`<>]{{1,512}})"""
_NEXT_PAIR = r"[,;&](?=[\w .-]{1,40}=|$)"
_ALONE = r"""["'`]?[ \t]*(?:$|[\r\n])"""


class _Assignment(NamedTuple):
    """A value with a secret's name: where it is, and whether it looks like one (``hide``)."""

    start: int
    end: int
    kind: str
    hide: bool


class _Name(NamedTuple):
    """A secret's name: its bounds, and whether it is one as it stands (``direct``) or only holds the word for one."""

    start: int
    end: int
    password: bool
    direct: bool


@cache
def _pattern(stem: str, rest: str) -> re.Pattern[str]:
    return re.compile(f"{stem}(?P<rest>{rest})(?P<tail>(?:[a-z0-9_]|-(?!>)){{0,40}}+){_AFTER_NAME}")


def find_assignments(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each secret assigned in ``text``; ``lowered`` is it in lower case, aligned."""
    for stem, rest in _STEMS.items():
        if stem not in lowered:
            continue
        position = 0
        while match := _pattern(stem, rest).search(lowered, position):
            position = match.end("rest")
            name = _name(stem, match, text, lowered)
            if name and (value := _value(name, match, text)):
                position = max(position, value.end)
                if value.hide:
                    yield value.start, value.end, value.kind
    if "--" in lowered:
        for match in compiled(_FLAG).finditer(lowered):
            start = match.start("stem")
            if match["stem"] != "key" or compiled(_KEY_OF).search(lowered, match.start(), start):
                name = _Name(match.start(), match.start("sep"), match["stem"] in _PASSWORDS, direct=True)
                flag = _value(name, match, text)
                if flag and flag.hide:
                    yield flag.start, flag.end, flag.kind


def _name(stem: str, match: re.Match[str], text: str, lowered: str) -> _Name | None:
    """Return the name that the word for a secret stands in; None when it is part of another word."""
    start, end = match.start(), match.end("rest")
    tail = text[end : match.end("tail")]
    numbered = not tail or compiled(_NUMBERED).match(tail)
    if not numbered and not compiled(_MORE).match(tail):
        return None  # tokenizer
    before = text[start - 1 : start]
    is_camel = text[start].isupper() and before.islower()
    if before.isalpha() and not is_camel and stem + match["rest"] in _WHOLE_WORDS:
        return None  # bypass, not dbPass
    known = stem not in ("key", "pat") or compiled(_KEY_OF).search(lowered, max(0, start - 14), start)
    if not known and not before.strip():
        return None
    name = _Name(_name_start(text, start), match.end("tail"), stem in _PASSWORDS, bool(known and numbered))
    return name if name.direct or not compiled(_PUBLIC).search(text[name.start : name.end]) else None


def _value(name: _Name, after: re.Match[str], text: str) -> _Assignment | None:
    sep = after["sep"].strip()
    below = "below" in after.re.groupindex and after["below"] is not None
    kind = "password" if name.password else "secret"
    if quoted := compiled(_QUOTED).match(text, after.end()):
        if _hide_quoted(quoted[2], quoted[1], sep, password=name.password and name.direct and not below):
            return _Assignment(*quoted.span(2), kind, hide=True)
        return None
    bare = compiled(_BARE).match(text, after.end())
    if bare is None:
        return None
    if sep == ">" and not text.startswith("</", bare.end()):
        return None
    env = after["sep"] == "=" and after.end() == after.end("sep") and _is_env(text, name)
    begin = bare.start("value")
    end = _bare_end(bare["value"], begin, env=env)
    password = name.password and name.direct
    hide = begin < end and _hide_bare(text[begin:end], sep, env=env, quoted=bool(bare["open"]), password=password)
    if below:
        hide = hide and compiled(_ALONE).match(text, end) is not None
    return _Assignment(begin, end, kind, hide)


def _name_start(text: str, start: int) -> int:
    stop = max(0, start - 40)
    while start > stop and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
    return start


def _is_env(text: str, name: _Name) -> bool:
    """Return whether the name is ``UPPER_CASE`` or follows a ``;``, as in ``.env`` files and connection strings."""
    return text[name.start : name.end].isupper() or text[max(0, name.start - 3) : name.start].rstrip().endswith(";")


def _bare_end(value: str, start: int, *, env: bool) -> int:
    """Where an unquoted value stops: before what was redacted already, the next pair, or a closing bracket."""
    redacted = value.find("[REDACTED")
    if redacted >= 0:
        value = value[:redacted]
    pair = compiled(_NEXT_PAIR).search(value)
    if pair:
        value = value[: pair.start()]
    return start + len(value if env else value.rstrip(",;.)]}\\|*"))


def _hide_quoted(value: str, quote: str, sep: str, *, password: bool) -> bool:
    if value.startswith("[REDACTED") and value.endswith("]"):
        return False
    if is_placeholder(value) or value[0] in ")],;}":
        return False
    if sep == ",":  # also a list of field names
        return looks_random(value)
    if not password:
        return looks_random(value) and not is_path(value)
    if len(value) < 6 or (" " in value and "pass" in value.lower()):
        return False  # a label: "Enter your password"
    return (quote != "`" and not sep[-1:].isalpha() and sep != "|") or is_mixed(value)


def _hide_bare(value: str, sep: str, *, env: bool, quoted: bool, password: bool) -> bool:
    value = value[:160]  # enough to judge by
    if len(value) < 6 or sep in (",", "(") or is_placeholder(value):
        return False
    if not quoted and (is_code(value) or is_path(value)):
        return False
    if not password:
        return looks_random(value)
    if env or (sep == "=" and value.isdigit()):
        return True
    if sep[-1:].isalpha():
        return is_generated(value) or (is_mixed(value) and has_sign(value))
    mixed = is_mixed(value) or looks_random(value) or is_scrambled(value)
    return mixed and not (value.islower() and ("-" in value or "_" in value) and is_wordy(value))


# --- a value that speaks for itself ---------------------------------------------------------------------


_REST = r"[A-Za-z0-9!#$%^*+?~@_./:=-]*"
_NEAR_CHARS = 64
_AFTER_CHARS = 40
# A short name counts where it does not begin another word: `authors`, `keyboard`, `path`.
_NEAR = (
    r"pass(?:word|wort|wd|phrase|code|e?(?![a-z]))|(?<!public)(?<!public.)(?:pw|psk|key|auth|salt)(?![a-z])"
    r"|(?!pass|pw(?!d)|psk|key|auth|salt|pat)"
)
_MARKER = r"(?:\[redacted:|^)[a-z_]{1,30}(?:\]|$)"  # `[REDACTED:password]` names no secret that is still there
_LETTER_FLAG = r"(?:^|\s)--?(?:[pwka]|[ua](?:ser|uth)?[ =]{0,2}[\"']?[\w.@-]{1,40}[:%])[ =]{0,2}[\"']?$"


def find_generated(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each generated value in a line that names a secret, or after a flag as ``-p``."""
    if " -" not in lowered and not any(name in lowered for name in (*PASSWORD_NAMES, *SECRET_NAMES)):
        return
    for word in set(mixed_runs(text)):
        value = word[1:] if word[0] in "pPw" and f" -{word}" in text else word
        start = text.find(value) if is_generated(value) else -1
        while start >= 0:
            end = start + len(value)
            if kind := _told(text, lowered, start, end):
                rest = compiled(_REST).match(text, end)
                end += len(rest[0].rstrip(".:?!")) if rest else 0
                yield start, end, kind
            start = text.find(value, end)


def _told(text: str, lowered: str, start: int, end: int) -> str | None:
    """Return the kind of secret that the line around a generated value speaks of."""
    line = max(text.rfind("\n", max(0, start - _NEAR_CHARS), start) + 1, start - _NEAR_CHARS, 0)
    before = lowered[line:start]
    if _is_part_of_address(before, lowered, start):
        return None
    if compiled(_LETTER_FLAG).search(before):
        return "password"
    after = lowered[end : end + _AFTER_CHARS].split("\n", 1)[0]
    if after.startswith("("):
        return None  # a function
    sides = [compiled(_MARKER).sub("", side) if "]" in side else side for side in (before, after)]
    if any(_names(side, PASSWORD_NAMES) for side in sides):
        return "password"
    return "secret" if any(_names(side, SECRET_NAMES) for side in sides) else None


def _names(side: str, names: tuple[str, ...]) -> bool:
    """Return whether one of the names stands in a part of a line, and is not the start of another word."""
    for name in names:
        at = side.find(name)
        while at >= 0:
            if compiled(_NEAR).match(side, at):
                return True
            at = side.find(name, at + 1)
    return False


def _is_part_of_address(before: str, lowered: str, start: int) -> bool:
    """Return whether a value stands in a path, a URL or a checksum: those have their own rules."""
    word = before[max(before.rfind(" "), before.rfind("\t")) + 1 :]
    return "://" in word or "/" in word or compiled(r"(?:sha\d+|md5|aaaa)[\w+/=-]{0,3}[:-]?$").search(word) is not None
