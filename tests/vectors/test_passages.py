"""What of an observation is given to a model to read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.vectors.upkeep import MAX_PASSAGES, MAX_TOKENS, passages, text_hash, tokens


def test_a_short_observation_is_one_passage_headed_by_its_title() -> None:
    assert passages("Login tokens", "They last fifteen minutes.") == ["Login tokens: They last fifteen minutes."]
    assert passages("", "They last fifteen minutes.") == ["They last fifteen minutes."]
    assert passages("Login tokens", "") == ["Login tokens"]
    assert passages(" ", " \n ") == []


def test_other_words_to_search_by_are_read_once() -> None:
    text = "\n".join(f"Line {number} says something about how the gateway works." for number in range(60))
    found = passages("Login", text, "auth jwt")
    assert len(found) > 1
    assert found[0].endswith("(auth jwt)")
    assert [passage for passage in found[1:] if "jwt" in passage] == []


def test_a_long_observation_is_read_to_its_end_in_pieces_that_a_model_can_read_whole() -> None:
    sentences = [f"Sentence {number} tells what the scheduler does with queue {number}." for number in range(200)]
    found = passages("Scheduler", " ".join(sentences))
    assert all(tokens(passage) <= MAX_TOKENS + tokens("Scheduler: ") + 1 for passage in found)
    whole = " ".join(found)
    assert [sentence for sentence in sentences if sentence not in whole] == []
    assert all(passage.startswith("Scheduler: ") for passage in found)


def test_a_script_without_spaces_is_cut_by_what_its_characters_cost() -> None:
    found = passages("", "网关每十五分钟刷新令牌。" * 100)
    assert len(found) >= 1200 // MAX_TOKENS
    assert all(len(passage) <= MAX_TOKENS for passage in found)


@pytest.mark.parametrize(
    "text", ["x" * 1_000_000, "a. " * 400_000, "\n" * 1_000_000, "漢" * 200_000, "\ud800 " * 9_000]
)
def test_a_megabyte_becomes_a_bounded_number_of_passages(text: str) -> None:
    assert len(passages("t", text)) <= MAX_PASSAGES


def test_the_hash_is_of_everything_that_is_read_and_of_where_it_stands() -> None:
    texts = [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("", "a", "bc"), ("a", "b", "d")]
    assert len({text_hash(*text) for text in texts}) == len(texts)
    assert text_hash("\ud800", "", "") == text_hash("\ud800", "", "")


@given(st.text(max_size=60), st.text(max_size=3_000), st.text(max_size=40))
def test_any_text_is_cut_without_losing_a_word(title: str, content: str, aliases: str) -> None:
    found = passages(title, content, aliases)
    assert len(found) <= MAX_PASSAGES
    if content.strip() and not title.strip() and not aliases.strip():
        assert "".join("".join(found).split()) == "".join(content.split())
