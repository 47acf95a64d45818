"""Word pieces are those of the tokenizer that the model was trained with."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.vectors import embedders
from engram_py.vectors.embedders import WordPiece

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


def test_a_word_that_is_not_known_is_split_into_its_longest_pieces() -> None:
    assert pieces("The tokenizer retries JWTs!") == [
        "the", "token", "##izer", "re", "##tries", "j", "##wt", "##s", "!",
    ]  # fmt: skip


def test_no_more_pieces_are_given_than_asked_for() -> None:
    assert pieces("one two three four", most=2) == ["one", "two"]


def test_a_word_of_a_script_it_never_saw_is_unknown() -> None:
    assert pieces("retry \U00010400") == ["re", "##try", "[UNK]"]


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"], max_codepoint=0x2DFF), max_size=60))
def test_any_text_is_split_as_the_library_does(library: Any, text: str) -> None:
    assert pieces(text) == library.encode(text).tokens
