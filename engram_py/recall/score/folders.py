"""The words that a text has in the folders of a path alone: where a file is kept does not say what a text is about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set

from engram_py.recall.score.passages import Found
from engram_py.text.derived_terms import camel_parts

# From within a folder to the name of a file, or to the slash that ends the path. The words of `iOS/Android`,
# `feature/cache`, of an address, and of a route as `/carts/{id}/items` stand in no folder.
_PART = r"[\w.@+*-]{1,80}"
_ON = rf"(?:{_PART})?[/\\](?:{_PART}[/\\]){{0,20}}"
_TO_A_FILE = re.compile(rf"{_ON}[\w@+*-][\w.@+*-]{{0,80}}(?<=\.)[a-z][\w+-]{{0,9}}(?![\w/\\])")
_TO_A_SLASH = re.compile(rf"{_ON}(?![\w.@+*{{}}:<>$\\/-])")
_FROM_A_ROOT = re.compile(r"(?<![\w.@+*}>\\/-])[/\\][\w.@+*/\\-]{0,200}\Z")
_OF_AN_ADDRESS = re.compile(r"://[\w.@+~:/-]{0,200}\Z")
_REACH = 210
# Of a log in which a word stands in hundreds of paths, so many places tell.
_LOOKED_AT = 8


def only_in_folders(found: Found, folded: str, asked: Set[int]) -> set[int]:
    """Which of the ``asked`` terms stand nowhere else; ``found`` is where each stands in the folded text.

    Where the name of the file has a word of the query too, both name the file.
    """
    if not asked or ("/" not in folded and "\\" not in folded):
        return set()
    inside: Counter[int] = Counter()
    outside: set[int] = set()
    for at, number in found:
        if number not in asked or number in outside or inside[number] >= _LOOKED_AT:
            continue
        if _in_a_folder(folded, at, found):
            inside[number] += 1
        else:
            outside.add(number)
    return {number for number, seen in inside.items() if seen} - outside


def is_a_part(stems: Sequence[str], text: str) -> bool:
    """Whether one of the parts of an identifier begins like this, which the index finds and ``found`` does not tell."""
    if not stems:
        return False
    words = re.finditer(rf"(?<![^\W_])[^\W_]{{0,60}}?(?:{'|'.join(map(re.escape, stems))})[^\W_]{{0,60}}", text, re.I)
    beginnings = tuple(stems)
    parts = (camel_parts(word[0]) for word in words)
    return any(part.lower().startswith(beginnings) for several in parts if len(several) > 1 for part in several)


def _in_a_folder(text: str, at: int, found: Found) -> bool:
    begun = max(0, at - _REACH)
    if path := _TO_A_FILE.match(text, at):
        name = max(text.rfind("/", at, path.end()), text.rfind("\\", at, path.end()))
        named = any(name < other < path.end() for other, _ in found)
        return not named and not _OF_AN_ADDRESS.search(text, begun, at)
    return _TO_A_SLASH.match(text, at) is not None and not _FROM_A_ROOT.search(text, begun, at)
