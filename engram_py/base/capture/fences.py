"""Break the tags by which this program and the hosts fence text: what is shown opens and closes none of them."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from engram_py.base.capture.host_formats import HOSTS
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import visible

# What opens a tag for a reader, by the names of the characters; quotation marks of some languages only before a slash.
_LESS = "<\N{FULLWIDTH LESS-THAN SIGN}\N{SMALL LESS-THAN SIGN}\u02c2\u2329\u27e8\u276c\u276e\u3008\u1438\ufe3f\u29fc"
_QUOTES = "\u2039\u00ab\u300a\u27ea"
_SLASH = "/\N{FULLWIDTH SOLIDUS}\N{FRACTION SLASH}\N{DIVISION SLASH}\u29f8\u2571"
_JOINT = r"[-_:.\u00ad\u2010-\u2015\u2043\u207b\u2212\ufe58\ufe63\uff0d\uff3f]"
_OURS = r"\W?e\W?n\W?g\W?r\W?a\W?m\W*m\W?e\W?m\W?o\W?r\W?y"
_TAG = regex(
    rf"(?xi)(?:[{_LESS}]|[{_LESS}{_QUOTES}]\s*[{_SLASH}]\s*)(?=(?P<ours>{_OURS})|(?P<name>permissions\s+instructions|[^\W_]+(?:{_JOINT}+[^\W_]+)*))"
    rf"|[{_LESS}]\s+(?={_OURS})"
)
_JOINTS = regex(rf"(?:{_JOINT}|\s)+")
_NAME = regex(r"</?([a-z_-]+)")

# Fences that hosts write besides those of ``HOSTS``: around what a tool gave (Claude Code, OpenCode), a file of
# instructions and a skill (Codex), the state of an editor (Cline, Roo Code), calls of tools and thoughts (models).
_OTHERS = (
    "system", "system-warning", "system-notification", "tool-use-error", "instructions", "permissions-instructions",
    "skill", "environment-details", "function-calls", "function-call", "function-results", "function-result",
    "tool-call", "tool-calls", "tool-response", "tool-result", "tool-results", "tool-code", "tool-outputs", "invoke",
    "thinking", "think", "antml",
)  # fmt: skip


def harmless(text: str) -> str:
    """Return ``visible`` text in which no fence of this program or of a host opens or closes: ``<`` becomes ``&lt;``.

    Other tags stay as they were written: HTML, types and placeholders such as ``<function_name>``.
    """
    shown = visible(text)
    if shown.isascii() and "<" not in shown:
        return shown
    return _TAG.sub(lambda tag: f"&lt;{tag[0][1:]}" if _is_fence(tag) else tag[0], shown)


def _is_fence(tag: re.Match[str]) -> bool:
    if tag["name"] is None:
        return True
    name = _JOINTS.sub("-", unicodedata.normalize("NFKC", tag["name"])).lower()
    whole, beginnings = _fences()
    # Letters of two scripts in one name are there to look like another.
    looks_like = not name.isascii() and re.search("[a-z]", name) is not None and "-" in name
    return name in whole or name.partition("-")[0] == "antml" or name.startswith(beginnings) or looks_like


@cache
def _fences() -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the names of fences, and what the names of others begin with."""
    whole: set[str] = {*_OTHERS}
    beginnings: list[str] = []
    for host in HOSTS.values():
        whole |= {tag.replace("_", "-") for tag in host.tags}
        for mark in (*host.instead, *(mark for one in host.around for mark in (one.before, one.after))):
            if named := _NAME.match(mark):
                (whole.add if mark.endswith(">") else beginnings.append)(named[1].replace("_", "-"))
    return frozenset(whole), tuple(beginnings)
