"""The sentence lane: all-MiniLM-L6-v2 in eight bits on the processor, through onnxruntime.

The vocabulary beside this file is that of bert-base-uncased (Google, Apache-2.0).
"""

from __future__ import annotations

import gzip
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.files import lines_of
from engram_py.lazy import regex
from engram_py.vectors.arrays import unit
from engram_py.vectors.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, half_of_the_processors, library, running

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors

MODEL = "model.onnx"
MAX_PIECES = 256  # what the model was trained with
_VOCABULARY = Path(__file__).with_name("wordpiece.txt.gz")
CLS, SEP, UNKNOWN, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
_LONGEST_WORD = 100

_ASCII_SYMBOL = r"!-/:-@\[-`{-~"
_TOKEN = regex(rf"[{_ASCII_SYMBOL}]|[^\s{_ASCII_SYMBOL}]+")
_CJK = regex("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")


class SentenceEmbedder(Embedder):
    """The mean of the model's vectors of word pieces. Raises EmbedderMissingError or EmbedderFailedError when made."""

    def __init__(self, name: str, folder: Path, *, threads: int | None = None) -> None:
        onnxruntime = library(name, "onnxruntime")
        self._name = name
        self._words = WordPiece(lines_of(gzip.decompress(_VOCABULARY.read_bytes()).decode()))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or half_of_the_processors()
        try:
            self._model: Any = onnxruntime.InferenceSession(
                str(folder / MODEL), options, providers=["CPUExecutionProvider"]
            )
        except Exception as exc:  # whatever the library may raise over a file
            raise EmbedderFailedError.loading(name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        start, end = self._words.ends
        rows = [[start, *self._words.numbers(text, most=MAX_PIECES - 2), end] for text in texts]
        numbers = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(numbers)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
            mask[place, : len(row)] = 1
        asked = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(numbers)}
        with running(self._name):
            said = self._model.run(None, asked)[0]
        return unit((said * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True))


class WordPiece:
    """Splits texts as uncased BERT models do (Devlin et al. 2018). ``vocabulary`` holds the pieces in their order."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._known: dict[str, list[int]] = {}
        self._unknown = self._numbers[UNKNOWN]
        self.ends = (self._numbers[CLS], self._numbers[SEP])

    def numbers(self, text: str, *, most: int) -> list[int]:
        """Return the first ``most`` pieces of the text, with no mark before or after them."""
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
    """Return the text in lower case, without accents, a space around each punctuation mark and Chinese character."""
    if text.isascii():
        return text.lower()
    return "".join(_spaced(c) for c in unicodedata.normalize("NFD", text.lower()))


def _spaced(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Mn" or (category[0] == "C" and not character.isspace()):
        return ""
    return f" {character} " if category[0] == "P" or _CJK.match(character) else character
