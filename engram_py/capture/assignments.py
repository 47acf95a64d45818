"""Finds values assigned to names such as ``password`` or ``api_key`` in code, configuration and prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from engram_py.capture.compiled import compiled
from engram_py.capture.secret_values import has_sign, is_code, is_mixed, is_path, is_placeholder, is_wordy, looks_random

# Searched in lower-cased text, each with the rest of the name it may begin. A name ends here: `password_file`,
# `tokens`, `tokenizer` and `secret_name` name something else.
_PASSWORDS = {"pass": r"(?:words?|wd|phrase|wort|code)?", "pwd": "", "contrase": r"(?:ña|na)", "senha": ""}
_PASSWORDS |= dict.fromkeys(("пароль", "密码", "パスワード"), "")
_STEMS = {**_PASSWORDS, "secret": "", "token": "", "key": "", "auth": "", "cred": r"(?:ential)?s?"}
_WHOLE_WORDS = frozenset({"pass", "pwd", "auth", "cred", "creds"})

_AFTER_NAME = (
    r"""(?:[_-]?\d{1,2})?(?:\[\d{0,4}\])?[)"'`\]*\\]{0,4}"""
    r"""(?:[ \t]{1,4}value(?=[ \t]?=)|[ \t]?:[ \t]?[a-z_][\w.\[\]|]{0,30}(?=[ \t]=)|[ \t](?:string|str)(?=[ \t]=))?"""
    r"""(?P<sep>[ \t]{0,8}(?:=>|:=|={1,3}|!={1,2}|[:：|>(,])|[ \t]{1,4}is(?=[ \t]))[ \t*_]{0,8}"""
)
_FLAG = (
    r"--(?:[a-z0-9]{1,20}-){0,4}(?P<stem>pass|pwd|secret|token|key|auth)(?P<rest>word|wd|phrase)?(?P<sep>[ \t]{1,4})"
)
_KEY_OF = (
    r"(?:api|access|secret|private|auth|account|signing|encryption|encrypt|master|service|admin|storage|app|client"
    r"|session|jwt|license|subscription|webhook|hmac|ssh|root)[_\-. ]?$"
)
_QUOTED = r"""(?:[fbrFBR]{1,2}|@)?(\\?["'`])((?:(?!\1)(?:\\.|[^\n\\])){1,512})\1(?!\w)"""
_BARE = r"""(?P<open>\\?["'`]{0,3})(?P<value>[^\s"'`<>]{1,512})"""
_NEXT_PAIR = r"[,;&](?=[\w .-]{1,40}=|$)"


class _Assignment(NamedTuple):
    """A value with a secret's name: where it is, and whether it looks like one (``hide``)."""

    start: int
    end: int
    kind: str
    hide: bool


@cache
def _pattern(stem: str, rest: str) -> re.Pattern[str]:
    return re.compile(f"{stem}(?P<rest>{rest}){_AFTER_NAME}")


def find_assignments(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of each secret assigned in ``text``; ``lowered`` is it in lower case, aligned."""
    for stem, rest in _STEMS.items():
        if stem not in lowered:
            continue
        pattern = _pattern(stem, rest)
        position = 0
        while match := pattern.search(lowered, position):
            position = match.end("rest")
            if _is_secret_name(stem, match, text, lowered) and (value := _value(stem, match, text)):
                position = max(position, value.end)
                if value.hide:
                    yield value.start, value.end, value.kind
    if "--" in lowered:
        for match in compiled(_FLAG).finditer(lowered):
            start = match.start("stem")
            if match["stem"] != "key" or compiled(_KEY_OF).search(lowered, match.start(), start):
                flag = _value(match["stem"], match, text)
                if flag and flag.hide:
                    yield flag.start, flag.end, flag.kind


def _is_secret_name(stem: str, match: re.Match[str], text: str, lowered: str) -> bool:
    start = match.start()
    if stem == "key":
        return compiled(_KEY_OF).search(lowered, max(0, start - 14), start) is not None
    if stem + match["rest"] in _WHOLE_WORDS and start and text[start - 1].isalpha():
        return text[start].isupper() and text[start - 1].islower()  # dbPass, not bypass
    return True


def _value(stem: str, match: re.Match[str], text: str) -> _Assignment | None:
    start, sep = match.start(), match["sep"].strip()
    if sep == ">" and text[_name_start(text, start) - 1 : start][:1] != "<":
        return None
    password = stem in _PASSWORDS
    kind = "password" if password else "secret"
    if quoted := compiled(_QUOTED).match(text, match.end()):
        if _hide_quoted(quoted[2], quoted[1], sep, password=password):
            return _Assignment(*quoted.span(2), kind, hide=True)
        return None
    bare = compiled(_BARE).match(text, match.end())
    if bare is None:
        return None
    env = match["sep"] == "=" and match.end() == match.end("sep") and _is_env(text, start, match.end("rest"))
    begin = bare.start("value")
    end = _bare_end(bare["value"], begin, env=env)
    hide = begin < end and _hide_bare(text[begin:end], sep, env=env, quoted=bool(bare["open"]), password=password)
    return _Assignment(begin, end, kind, hide)


def _name_start(text: str, start: int) -> int:
    stop = max(0, start - 40)
    while start > stop and (text[start - 1].isalnum() or text[start - 1] in "_-"):
        start -= 1
    return start


def _is_env(text: str, start: int, end: int) -> bool:
    """Return whether the name is ``UPPER_CASE`` or follows a ``;``, as in ``.env`` files and connection strings."""
    start = _name_start(text, start)
    return text[start:end].isupper() or text[max(0, start - 3) : start].rstrip().endswith(";")


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
    return (quote != "`" and sep not in ("is", "|")) or is_mixed(value)


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
    if sep == "is":
        return is_mixed(value) and has_sign(value)
    return is_mixed(value) and not (value.islower() and ("-" in value or "_" in value) and is_wordy(value))
