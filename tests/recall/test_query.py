"""What is read of a query."""

from __future__ import annotations

import pytest

from engram_py.recall.query import MAX_QUERY_CHARS, MAX_WORDS, match_all, match_any, parse_query, quote


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("Token  lifetime, token!", ["token", "lifetime"], id="each-once-in-order"),
        pytest.param("rate_limit/max-retries.py", ["rate", "limit", "max", "retries", "py"], id="identifiers"),
        pytest.param("title:x AND NOT (y*)", ["title", "x", "and", "not", "y"], id="syntax-is-words"),
        pytest.param("v2 of 用户登录", ["v2", "of", "用户", "户登", "登录"], id="pairs"),
        pytest.param("", [], id="empty"),
        pytest.param('"" * ^ 🎉', [], id="signs"),
    ],
)
def test_every_run_of_letters_and_digits_is_a_word(text: str, words: list[str]) -> None:
    assert [word.text for word in parse_query(text).words] == words


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert [word.text for word in parse_query("why is the queue stuck").content_words] == ["queue", "stuck"]
    assert [word.text for word in parse_query("why is it").content_words] == ["why", "is", "it"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("#12", 12), ("  #12 ", 12), ("12", None), ("#12 and more", None), ("#", None), ("#1234567890123456789", None)],
)
def test_a_handle_names_an_observation(text: str, number: int | None) -> None:
    assert parse_query(text).observation_id == number


def test_a_camel_word_is_found_whole_or_by_all_its_parts() -> None:
    [word] = parse_query("getHTTPResponse").words
    assert word.expression == '("gethttpresponse" OR ("get" AND "http" AND "response"))'


def test_words_are_joined_by_and_or_by_or() -> None:
    words = parse_query("queue worker").words
    assert match_all(words) == '"queue" AND "worker"'
    assert match_any(words) == '"queue" OR "worker"'


def test_what_is_quoted_cannot_end_its_quotes() -> None:
    assert quote('say "hi"\0') == '"say ""hi"" "'


def test_a_long_query_is_read_from_its_beginning_and_says_so() -> None:
    many = parse_query(" ".join(f"word{number}" for number in range(500)))
    huge = parse_query("first " + "x" * MAX_QUERY_CHARS)
    assert (len(many.words), many.words[0].text, many.shortened) == (MAX_WORDS, "word0", True)
    assert (huge.words[0].text, huge.shortened) == ("first", True)
    assert len(huge.text) == MAX_QUERY_CHARS
    assert not parse_query("queue worker").shortened
