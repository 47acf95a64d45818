"""The models that run on this machine, and the word pieces they read."""

from __future__ import annotations

import gzip
import json
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.errors import EmbedderError
from engram_py.recall.vectors import embedders, model_file
from engram_py.recall.vectors.embedders import WordPiece
from engram_py.recall.vectors.model import load_embedder
from engram_py.recall.vectors.protocol import Embedder, parse_embedder
from engram_py.recall.vectors.values import EmbedderFailedError
from tests.embedders import np
from tests.support import raising

WORDS = ["[PAD]", "[UNK]", "login", "token", "expire", "queue", "job", "worker", "the", "of", "a"]
DIMENSION = 8


def table() -> Any:
    """A vector per word: those of login and of queue lie apart."""
    vectors = np.random.default_rng(3).standard_normal((len(WORDS), DIMENSION)) * 0.1
    for place, word in enumerate(WORDS):
        vectors[place, 0] += word in ("login", "token", "expire")
        vectors[place, 1] += word in ("queue", "job", "worker")
    return vectors.astype(np.float32)


def tokenizer() -> Any:
    tokenizers = pytest.importorskip("tokenizers", reason="models need engram-py[vectors]")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: place for place, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.normalizer = tokenizers.normalizers.Lowercase()
    return made


def tells_logins_from_queues(embedder: Embedder) -> None:
    found = embedder.passages(["the login token", "a queue of job", "worker queue"])
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    question = embedder.question("token expire")
    assert question.shape == (1, found.shape[1])
    near = (found @ question[0]).tolist()
    assert near.index(max(near)) == 0


# --- model2vec ---------------------------------------------------------------------------------------------


@pytest.fixture
def static_model(tmp_path: Path) -> Path:
    model2vec = pytest.importorskip("model2vec", reason="static models need engram-py[vectors]")
    model2vec.StaticModel(table(), tokenizer()).save_pretrained(tmp_path / "static")
    return tmp_path / "static"


def test_a_model2vec_model_is_loaded_from_its_directory_and_sees_nothing_in_words_it_does_not_know(
    static_model: Path,
) -> None:
    embedder = load_embedder(parse_embedder(f"model2vec:{static_model}"))
    tells_logins_from_queues(embedder)
    assert embedder.passages(["zzz"]).any() == np.False_


# --- fastembed ---------------------------------------------------------------------------------------------


@pytest.fixture
def sentence_model(tmp_path: Path) -> Path:
    """An ONNX model of one node, the look-up of a word's vector, and its tokenizer."""
    pytest.importorskip("fastembed", reason="sentence models need engram-py[vectors]")
    folder = tmp_path / "sentence"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(onnx_lookup(table()))
    tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}), encoding="utf-8")
    told = {"model_max_length": 64, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}), encoding="utf-8")
    return folder


def test_a_fastembed_model_is_loaded_from_its_directory_and_again(sentence_model: Path) -> None:
    for _ in range(2):
        tells_logins_from_queues(load_embedder(parse_embedder(f"fastembed:{sentence_model}")))


def test_a_model_is_pooled_as_its_own_configuration_says(sentence_model: Path) -> None:
    (sentence_model / "1_Pooling").mkdir()
    told = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    (sentence_model / "1_Pooling" / "config.json").write_text(json.dumps(told), encoding="utf-8")
    embedder = load_embedder(parse_embedder(f"fastembed:{sentence_model}"))
    assert np.allclose(embedder.passages(["login queue"]), embedder.passages(["login"]), atol=1e-5)


# --- both --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["empty", "broken"])
@pytest.mark.parametrize(("kind", "folder"), [("model2vec", "static_model"), ("fastembed", "sentence_model")])
def test_a_directory_that_holds_no_model_is_named(
    request: pytest.FixtureRequest, kind: str, folder: str, damage: str
) -> None:
    model: Path = request.getfixturevalue(folder)
    for file in model.iterdir():
        file.write_bytes(b"no model") if damage == "broken" else file.unlink()
    with pytest.raises(EmbedderFailedError, match=r"model\.onnx|cannot be loaded"):
        load_embedder(parse_embedder(f"{kind}:{model}"))


def test_a_model2vec_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("model2vec", reason="static models need engram-py[vectors]")
    with pytest.raises(EmbedderFailedError, match="is not a directory"):
        load_embedder(parse_embedder(f"model2vec:{tmp_path / 'nowhere'}"))


@pytest.mark.parametrize("package", ["model2vec", "fastembed"])
def test_a_package_that_is_not_installed_is_named_with_how_to_get_it(
    package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with raising(EmbedderError, "embedder_not_installed") as refused:
        load_embedder(parse_embedder(f"{package}:{tmp_path}"))
    assert f"needs the package {package}" in refused.value.message
    assert refused.value.hint == f"run `{sys.executable} -m pip install {package}`"


@pytest.mark.parametrize("kind", ["model2vec", "fastembed"])
def test_a_model_that_is_not_on_this_machine_is_not_fetched_unasked(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip(kind, reason=f"needs {kind}, of the extra vectors")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    name = {"model2vec": "engram-tests/nowhere", "fastembed": "BAAI/bge-small-en-v1.5"}[kind]
    with pytest.raises(EmbedderFailedError) as refused:
        load_embedder(parse_embedder(f"{kind}:{name}"))
    assert refused.value.hint == "run `engram vectors on` once; it fetches the model"


# --- an ONNX file is a protocol buffer of a few fields -------------------------------------------------------


def onnx_lookup(vectors: Any, *, unused: Sequence[str] = ()) -> bytes:
    """``last_hidden_state = Gather(table, input_ids)`` (the fields' numbers: onnx/onnx.proto)."""
    weights = _field(1, len(vectors)) + _field(1, vectors.shape[1]) + _field(2, 1) + _text(8, "table")
    weights += _bytes(9, vectors.tobytes())
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather")
    graph = _bytes(1, node) + _text(2, "lookup") + _bytes(5, weights)
    for name in ("input_ids", *unused):
        graph += _bytes(11, _value(name, 7, ("batch", "tokens")))
    graph += _bytes(12, _value("last_hidden_state", 1, ("batch", "tokens", vectors.shape[1])))
    return _field(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _field(2, 13))


def onnx_lookup_in_floats(rows: Any, scale: Any) -> bytes:
    """``last_hidden_state = Gather(Cast(rows) * scale, input_ids)``, as the model of the sentence lane is written."""
    name = model_file._ROWS.decode()
    graph = _text(2, "lookup")
    for said, kind, held in ((f"{name}_q", 3, rows), (f"{name}_scale", 1, scale)):
        sizes = b"".join(_field(1, size) for size in held.shape)
        graph += _bytes(5, sizes + _field(2, kind) + _text(8, said) + _bytes(9, held.tobytes()))
    to_float = _bytes(5, _text(1, "to") + _field(3, 1) + _field(20, 2))
    graph += _bytes(1, _text(1, f"{name}_q") + _text(2, f"{name}_f") + _text(4, "Cast") + to_float)
    graph += _bytes(1, _text(1, f"{name}_f") + _text(1, f"{name}_scale") + _text(2, name) + _text(4, "Mul"))
    graph += _bytes(1, _text(1, name) + _text(1, "input_ids") + _text(2, "last_hidden_state") + _text(4, "Gather"))
    graph += _bytes(11, _value("input_ids", 7, ("batch", "tokens")))
    graph += _bytes(12, _value("last_hidden_state", 1, ("batch", "tokens", rows.shape[1])))
    return _field(1, 8) + _bytes(7, graph) + _bytes(8, _text(1, "") + _field(2, 17))


def test_rows_that_are_looked_up_as_bytes_answer_what_those_in_floats_did() -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="the sentence lane needs what the extra vectors names")
    chance = np.random.default_rng(3)
    rows = chance.integers(-128, 127, (300, 4)).astype(np.int8)
    before = onnx_lookup_in_floats(rows, chance.random((300, 1)).astype(np.float32))
    after = model_file.looked_up_as_bytes(before)
    asked = {"input_ids": np.array([[7, 299, 7, 0]])}
    answers = [onnxruntime.InferenceSession(one).run(None, asked)[0] for one in (before, after)]
    assert (answers[0] == answers[1]).all()
    assert after.index(b"Gather") < after.index(b"Cast")
    assert model_file.looked_up_as_bytes(after) == after


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    sizes = b"".join(_bytes(1, _field(1, one) if isinstance(one, int) else _text(2, one)) for one in shape)
    return _text(1, name) + _bytes(2, _bytes(1, _field(1, kind) + _bytes(2, sizes)))


def _field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


VOCABULARY = gzip.decompress(Path(embedders.__file__).with_name("wordpiece.txt.gz").read_bytes()).decode().splitlines()


def pieces(text: str, *, most: int = 10_000) -> list[str]:
    return [VOCABULARY[number] for number in WordPiece(VOCABULARY).numbers(text, most=most)]


@pytest.fixture(scope="module")
def library() -> Any:
    """The tokenizer of the Rust library, of the same vocabulary."""
    tokenizers = pytest.importorskip("tokenizers", reason="compared with the library where it is installed")
    numbers = {piece: number for number, piece in enumerate(VOCABULARY)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made


def test_an_unknown_word_is_split_into_its_longest_pieces_no_more_than_asked_for() -> None:
    assert pieces("The tokenizer retries JWTs!") == [
        "the", "token", "##izer", "re", "##tries", "j", "##wt", "##s", "!",
    ]  # fmt: skip
    assert pieces("one two three four", most=2) == ["one", "two"]
    assert pieces("retry \U00010400") == ["re", "##try", "[UNK]"]


# The table of the Rust library is older than Python's (U+09FD is new to it), so both draw what Unicode 3.2 had.
KNOWN_TO_BOTH = st.characters(categories=["L", "N", "P", "S", "Zs"], max_codepoint=0x2DFF).filter(
    lambda char: unicodedata.category(char) == unicodedata.ucd_3_2_0.category(char)
)


@given(st.text(KNOWN_TO_BOTH, max_size=60))
def test_any_text_is_split_as_the_library_does(library: Any, text: str) -> None:
    assert pieces(text) == library.encode(text).tokens
