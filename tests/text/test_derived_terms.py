"""The terms indexed beside a text."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from engram_py.text.words import camel_parts, derived_terms, pairs


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        pytest.param("plain words only", "", id="nothing-to-add"),
        pytest.param("getUserById", "get user by id", id="camel"),
        pytest.param("rate_limit", "ratelimit", id="snake"),
        pytest.param("rate-limit-window", "ratelimitwindow", id="kebab"),
        pytest.param("max_HTTPRetries", "http retries maxhttpretries", id="mixed"),
        pytest.param("one-two-three-four-five", "one two three four five", id="a-phrase-is-no-name"),
        pytest.param("登录失败", "登录 录失 失败", id="chinese"),
        pytest.param("登", "登", id="one-character"),
        pytest.param("user登录", "登录 user", id="scripts-run-together"),
        pytest.param("キュー・ワーカー", "キュ ュー ーワ ワー ーカ カー", id="middle-dot"),
        pytest.param(normalize("NFD", "데이터"), "데이 이터", id="decomposed"),
    ],
)
def test_a_text_is_found_by_what_its_words_are_made_of(text: str, terms: str) -> None:
    assert derived_terms(text) == terms


def test_vowel_signs_take_no_part_in_pairs() -> None:
    assert pairs("ที่จัด") == ["ทจ", "จด"]
    assert pairs("\u0e31") == []


def test_the_terms_of_several_texts_come_in_their_order() -> None:
    assert derived_terms("userId", "登录") == "user id 登录"


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("HTTP", ["HTTP"]),
        ("parseHTTPResponse2", ["parse", "HTTP", "Response", "2"]),
        ("v2Beta", ["v", "2", "Beta"]),
        ("Über", ["Über"]),
        ("word", ["word"]),
    ],
)
def test_a_name_is_taken_apart_where_its_case_changes(word: str, parts: list[str]) -> None:
    assert camel_parts(word) == parts
