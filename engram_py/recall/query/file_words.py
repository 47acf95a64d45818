"""The words of a question that may be the path or the name of a file: ``tasks/mailer.py``, ``vat.py``."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from engram_py.text.segments import segments

_MOST = 4
_MOST_CHARS = 300
_AROUND = "\"'`()[]<>,;:!?"
_LINE = re.compile(r":[0-9]+(?:[-:][0-9]+)?$")
_NAME = re.compile(r"[^/]\.[A-Za-z][\w+-]{0,9}$")
_NO_PATH = re.compile(r"://|[*?{}$]|//|/$|^$")


def file_words(text: str) -> dict[str, str]:
    """At most four paths with slashes, each with the word it was typed as; ``e.g.`` and ``node.js`` may be files."""
    found: dict[str, str] = {}
    for word in text.split() if "." in text or "/" in text or "\\" in text else ():
        path = _LINE.sub("", word.strip(_AROUND)).rstrip(".").replace("\\", "/").removeprefix("./")
        named = "/" in path or _NAME.search(path)
        if named and len(path) <= _MOST_CHARS and not _NO_PATH.search(path):
            found.setdefault(path, word)
            if len(found) == _MOST:
                break
    return found


def naming_words(path: str) -> list[str]:
    """The words of a file's own name without what it ends in: ``docker`` and ``compose`` of ``docker-compose.yml``."""
    return [word.lower() for word in segments(PurePosixPath(path).stem)]
