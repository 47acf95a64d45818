"""BERT's WordPiece: the numbers of the word pieces of a text, without a tokenizer library.

The vocabulary beside this file is that of bert-base-uncased (Google, Apache-2.0).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

CLS, SEP, UNKNOWN, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
_LONGEST_WORD = 100

_ASCII_SYMBOL = r"!-/:-@\[-`{-~"
_TOKEN = re.compile(rf"[{_ASCII_SYMBOL}]|[^\s{_ASCII_SYMBOL}]+")
_CJK = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")


class WordPiece:
    """Splits texts as uncased BERT models do (Devlin et al. 2018). ``vocabulary`` holds the pieces in their order."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._known: dict[str, list[int]] = {}
        self._unknown = self._numbers[UNKNOWN]
        self.ends = (self._numbers[CLS], self._numbers[SEP])

    def numbers(self, text: str, *, most: int) -> list[int]:
        """The first ``most`` pieces of the text, with no mark before or after them."""
        found: list[int] = []
        for word in _TOKEN.findall(_plain(text)):
            found += self._known.get(word) or self._pieces(word)
            if len(found) >= most:
                break
        return found[:most]

    def _pieces(self, word: str) -> list[int]:
        """The longest piece that begins the word, then the longest that goes on, to its end."""
        pieces: list[int] = []
        start = 0
        while start < len(word) and len(word) <= _LONGEST_WORD:
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._numbers), None)
            if end is None:
                break
            pieces.append(self._numbers[mark + word[start:end]])
            start = end
        found = pieces if start == len(word) else [self._unknown]
        if len(self._known) > 50_000:
            self._known.clear()
        self._known[word] = found
        return found


def _plain(text: str) -> str:
    """The text in lower case, without accents, a space around each punctuation mark and Chinese character."""
    if text.isascii():
        return text.lower()
    return "".join(_spaced(c) for c in unicodedata.normalize("NFD", text.lower()))


def _spaced(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Mn" or (category[0] == "C" and not character.isspace()):
        return ""
    return f" {character} " if category[0] == "P" or _CJK.match(character) else character
