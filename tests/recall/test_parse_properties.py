"""Whatever somebody types becomes an expression that FTS5 accepts, and finds the text it was taken from."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from unicodedata import normalize, ucd_3_2_0

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py.recall.preview import preview
from engram_py.recall.proximity import term_finder
from engram_py.recall.query import MAX_WORDS, match_all, match_any, parse_query
from engram_py.recall.related import may_contradict, overlap, title_words
from engram_py.recall.score import Term
from engram_py.text.words import derived_terms

SYNTAX = ["AND", "OR", "NOT", "NEAR(", '"', '""', "*", "^", ":", "-", "(", ")", "{", "}", "+", "title:", "\0", "'", ";"]
SCRIPTS = ["tokenStore", "rate_limit", "a-b", "v1.2", "用户登录", "キュー", "로그인", "ระบบ", "очередь"]
SCRIPTS += ["الرمز", "Straße", "İ", "🎉"]
PIECES = st.one_of(st.sampled_from(SYNTAX), st.sampled_from(SCRIPTS), st.text(max_size=12))
TYPED = st.one_of(st.text(), st.lists(PIECES, max_size=20).map(" ".join), st.lists(PIECES, max_size=20).map("".join))
# Python and SQLite know different versions of Unicode; they agree about what is in both.
OLD = "".join(chr(point) for point in range(1, 0x30000) if ucd_3_2_0.category(chr(point)) not in ("Cs", "Co", "Cn"))
MIXED = st.lists(st.one_of(st.sampled_from(SCRIPTS), st.text(OLD)), max_size=10)
STORED = MIXED.map("".join).map(partial(normalize, "NFC"))


@pytest.fixture(scope="module")
def index() -> Iterator[sqlite3.Connection]:
    """An index made as the migrations make it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(
            "create virtual table notes using fts5(title, content, terms, "
            "tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        yield connection


def found(index: sqlite3.Connection, match: str) -> list[int]:
    return [row[0] for row in index.execute("select rowid from notes where notes match :match", {"match": match})]


@given(text=STORED)
@example(text="getHTTPResponse2 für die Übersicht")
@example(text="用户user登录 v1.2-rc_3")
@example(text="พื้นที่จัดเก็บ")
@example(text="rate_limit\u0300\u3400")
@example(text="\u13a0 \u1c90\u1c91 \U0001e900x")  # capitals that SQLite's tokenizer does not know as such
def test_a_stored_text_is_found_by_its_own_words(index: sqlite3.Connection, text: str) -> None:
    query = parse_query(text)
    index.execute("delete from notes")
    index.execute("insert into notes (rowid, content, terms) values (1, ?, ?)", (text, derived_terms(text)))
    if query.words:
        assert found(index, match_all(query.words)) == [1]
        assert found(index, match_any(query.words)) == [1]


@given(title=TYPED, other=TYPED)
def test_likeness_of_titles_is_a_share_and_the_same_both_ways(title: str, other: str) -> None:
    assert 0 <= overlap(title_words(title), title_words(other)) <= 1
    assert overlap(title_words(title), title_words(other)) == overlap(title_words(other), title_words(title))
    assert may_contradict(title_words(title), title_words(other)) == may_contradict(
        title_words(other), title_words(title)
    )


@given(text=TYPED)
@example(text='"')
@example(text="\ud800 a")
@example(text="a\0b")
@example(text="x" * 100_000)
def test_no_text_makes_fts5_complain(index: sqlite3.Connection, text: str) -> None:
    query = parse_query(text)
    assert len(query.words) <= MAX_WORDS
    if query.words:
        for match in (match_all(query.words), match_any(query.content_words), match_all(query.content_words)):
            found(index, match)
            found(index, f"title : ({match})")


MARKS = st.sampled_from(['"', ' "', '" ', " -", ' -"', "“", "«", "type:", "since:", ":"])


@given(text=st.one_of(TYPED, st.lists(st.one_of(PIECES, MARKS), max_size=20).map("".join)))
@example(text='"a" -"b" -c "')
@example(text='-"\0" "\ud800 x"')
@example(text='"用" -用户 "ระ"')
def test_no_phrase_and_no_excluded_word_makes_fts5_complain(index: sqlite3.Connection, text: str) -> None:
    query = parse_query(text, filters=True)
    assert parse_query(text, filters=True) == query
    for word in query.words[:4]:
        found(index, query.restricted(word.expression))
    for expression in (*query.phrases, *query.excluded):
        found(index, expression)


@given(content=STORED, words=st.lists(st.text(min_size=1, max_size=8)), limit=st.integers(20, 300))
def test_a_preview_is_one_line_that_fits(content: str, words: list[str], limit: int) -> None:
    terms = [Term(word, word, 1.0, 1, (word,)) for word in words]
    found = preview(content, terms, term_finder(terms), limit=limit)
    assert len(found.text) <= limit
    assert "\n" not in found.text
    assert found.cut == (found.text != " ".join(content.split()))
