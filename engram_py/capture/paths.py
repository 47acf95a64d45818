"""Finds paths that are true on one machine only."""

from __future__ import annotations

import re

_END = r"\s\"'`<>|:;,()\[\]{}*"
_POSIX = rf"/(?:home|Users)/(?!Shared\b)[^/${_END}]+(?:/[^{_END}]*)?|/root/[^{_END}]+"
_WINDOWS = rf"[A-Za-z]:(?:\\{{1,2}}|/)Users(?:\\{{1,2}}|/)[^%${_END}]+"
_ABSOLUTE = re.compile(rf"(?:(?<![\w./~:}}-])|(?<=file://))(?:{_POSIX})|(?<!\w){_WINDOWS}")


def absolute_paths(text: str) -> list[str]:
    """The paths below somebody's home directory that ``text`` names, each once, in order.

    They mean nothing to whoever reads the memory on another machine; a path from the repository's root does.
    """
    if "/home/" not in text and "/root/" not in text and "Users" not in text:
        return []
    found = (match[0].rstrip(".!?\\/") for match in _ABSOLUTE.finditer(text))
    return list(dict.fromkeys(found))
