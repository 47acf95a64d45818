"""Parsing a query: words, phrases, filters; any text becomes an expression that FTS5 accepts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from unicodedata import normalize, ucd_3_2_0

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py.base.reasons import Reason, reason
from engram_py.base.text.words import derived_terms
from engram_py.recall.query import (
    KEYS,
    MAX_QUERY_CHARS,
    MAX_WORDS,
    Filters,
    cut_filters,
    match_all,
    match_any,
    parse_query,
)


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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # stop words, unless there is nothing else
        ("why is the queue stuck", ["queue", "stuck"]),
        ("why is it", ["why", "is", "it"]),
        # what only frames or carries a question
        ("what kind of queue is it", ["queue"]),
        ("how many workers are there", ["workers"]),
        ("where did we decide to keep orders?", ["keep", "orders"]),
        ("what did we choose for the queue", ["queue"]),
        ("which database do orders use", ["database", "orders"]),
        ("use the queue", ["use", "queue"]),
        ("a decided advantage", ["decided", "advantage"]),
        ("what actually happens if the risk check is still really slow?", ["risk", "check", "slow"]),
        ("still happening already", ["happening"]),
        ("really already", ["really", "already"]),
        # a word says nothing only in its own language
        ("is it MIT or GPL", ["mit", "gpl"]),
        ("what lives on the nas", ["lives", "nas"]),
        ("where do the tables come from", ["tables", "come"]),
        ("wo ist die Wartung der Datenbank", ["wartung", "datenbank"]),
        ("cómo se configura la base", ["configura", "base"]),
        ("настройки в базе", ["настройки", "базе"]),
        ("cache AND NOT redis", ["cache", "redis"]),
        ("WHY IS THE QUEUE STUCK", ["queue", "stuck"]),
        # small words of other languages
        ("Warum bekommen Mitglieder keine Plastikkarte mehr?", ["mitglieder", "plastikkarte"]),
        ("Bis wann kann man stornieren und wer bekommt das Geld?", ["stornieren", "geld"]),
        ("Wie lange dürfen unsere Sitzungen noch offen sein?", ["sitzungen", "offen"]),
        ("Les membres ont-ils encore accès depuis hier ?", ["membres", "accès"]),
        ("Combien de fois peut-on faire un remboursement ?", ["fois", "remboursement"]),
        ("¿Hasta cuándo puede una persona cancelar?", ["persona", "cancelar"]),
        ("¿Quiénes deben aprobar todas las devoluciones?", ["quiénes", "aprobar", "devoluciones"]),
        ("the man page of the car sensor", ["man", "page", "car", "sensor"]),
    ],
)
def test_only_the_words_that_say_something_are_asked_about(text: str, words: list[str]) -> None:
    assert [word.text for word in parse_query(text).content_words] == words


@pytest.mark.parametrize(("text", "number"), [
    ("#12", 12), ("  #12 ", 12), ("[#12]", 12), ("12", None), ("#12 and more", None), ("#", None),
    ("#1234567890123456789", None),
])  # fmt: skip
def test_a_handle_names_an_observation(text: str, number: int | None) -> None:
    assert parse_query(text).observation_id == number


def test_a_long_query_is_read_from_its_beginning_and_says_so() -> None:
    many = parse_query(" ".join(f"word{number}" for number in range(500)))
    huge = parse_query("first " + "x" * MAX_QUERY_CHARS)
    assert (len(many.words), many.words[0].text, many.shortened) == (MAX_WORDS, "word0", True)
    assert (huge.words[0].text, huge.shortened) == ("first", True)
    assert len(huge.text) == MAX_QUERY_CHARS
    assert not parse_query("queue worker").shortened


def test_of_a_long_text_what_was_asked_first_and_the_longest_words_stay_and_times_go_first() -> None:
    log = " ".join(
        f"10:{number} {number:08x} is the worker{'x' * (number % 9)}{chr(97 + number % 26)}" for number in range(90)
    )
    words = [word.text for word in parse_query(f"why does the pool jam? {log}").words]
    assert words[:2] == ["pool", "jam"]
    assert len(words) == MAX_WORDS
    assert not [word for word in words if word[0].isdigit() or word in ("is", "the")]
    assert max(map(len, words)) == len("worker") + 9


# --- what was typed in a search box ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "typed",
    [
        "nrfjprog error -102",
        "returns -EINVAL",
        "gcc -O2 loop",
        "cells at -10 degrees",
        "why does the deploy script call rsync -archive?",
        "docker run -it",
        "xargs -P 4 -n 1",
    ],
)
def test_a_number_a_constant_or_a_flag_with_a_minus_is_looked_for(typed: str) -> None:
    assert parse_query(typed, filters=True).excluded == ()


@pytest.mark.parametrize(
    "moment", ["2026-11-21T22:14:09", "2026-11-21 22:14:09.123+00:00", "22:14:09,5", "2026-11-21T22:14:09Z"]
)
def test_the_moment_of_a_log_s_line_is_no_word_of_it(moment: str) -> None:
    assert [word.text for word in parse_query(f"{moment} deadlock detected").words] == ["deadlock", "detected"]
    assert parse_query(moment).words != ()


@pytest.mark.parametrize(
    ("text", "phrases", "excluded", "words"),
    [
        pytest.param('"retry queue" worker', ('("retry queue")',), (), ["retry", "queue", "worker"], id="phrase"),
        pytest.param('"a" "b c"', ('("a")', '("b c")'), (), ["a", "b", "c"], id="two-phrases"),
        pytest.param("“retry queue”", ('("retry queue")',), (), ["retry", "queue"], id="curly"),
        pytest.param("«retry queue»", ('("retry queue")',), (), ["retry", "queue"], id="guillemets"),
        pytest.param('"rate_limit"', ('("rate limit")',), (), ["rate", "limit"], id="identifier"),
        pytest.param('"用户登录"', ('("用户 户登 登录")',), (), ["用户", "户登", "登录"], id="without-blanks"),
        pytest.param('"用"', ('("用"*)',), (), ["用"], id="one-character"),
        pytest.param('"v2 用户"', ('("v2" AND "用户")',), (), ["v2", "用户"], id="mixed"),
        pytest.param('"retry queue', (), (), ["retry", "queue"], id="open"),
        pytest.param('5" disk and 3" disk', (), (), ["5", "disk", "and", "3"], id="inches"),
        pytest.param('"" "🎉"', (), (), [], id="without-a-word"),
        pytest.param("queue -Redis", (), ('("redis")',), ["queue"], id="excluded-word"),
        pytest.param("-redis -kafka queue", (), ('("redis")', '("kafka")'), ["queue"], id="two-excluded"),
        pytest.param('queue -"redis cluster"', (), ('("redis cluster")',), ["queue"], id="excluded-phrase"),
        pytest.param("queue -rate_limit", (), ('("rate limit")',), ["queue"], id="excluded-identifier"),
        pytest.param("rate-limit", (), (), ["rate", "limit"], id="inside-a-word"),
        pytest.param("queue - redis", (), (), ["queue", "redis"], id="minus-alone"),
        pytest.param("queue --redis", (), (), ["queue", "redis"], id="an-option"),
        pytest.param("queue -", (), (), ["queue"], id="at-the-end"),
    ],
)
def test_a_quoted_phrase_is_required_and_its_words_rank_and_what_follows_a_minus_is_excluded(
    text: str, phrases: tuple[str, ...], excluded: tuple[str, ...], words: list[str]
) -> None:
    query = parse_query(text, filters=True)
    assert (query.phrases, query.excluded) == (phrases, excluded)
    assert [word.text for word in query.words] == words


def test_filters_are_no_words_unless_they_are_not_asked_for() -> None:
    asked, plain = parse_query("queue type:bugfix", filters=True), parse_query("queue type:bugfix")
    assert (asked.filters.types, [word.text for word in asked.words]) == (("bugfix",), ["queue"])
    assert (bool(plain.filters), [word.text for word in plain.words]) == (False, ["queue", "type", "bugfix"])
    assert parse_query("queue note:x", filters=True).notes


def test_no_more_phrases_are_looked_up_than_anybody_types() -> None:
    query = parse_query(" ".join(f'"word {number}" -no{number}' for number in range(10)), filters=True)
    assert 0 < len(query.phrases) <= 8
    assert 0 < len(query.excluded) <= 8


def test_what_was_pasted_has_quotes_dashes_and_colons_of_its_own() -> None:
    log = 'cc -shared -pipe file:src/main.c said: the "in" keyword of "a loop" ' + " ".join(
        f"line{number}" for number in range(25)
    )
    query = parse_query(f'type:bugfix topic:"the build" {log} is:stale', filters=True)
    assert (query.pasted, query.phrases, query.excluded) == (True, (), ())
    assert {"keyword", "shared", "loop", "main", "stale"} <= {word.text for word in query.words}
    assert query.filters == Filters(types=("bugfix",), topics=("the build",))
    assert query.notes == (reason("pasted_marks", limit=30),)

    inside = parse_query(f'the linker said "no" -lz {log} and then it ended there', filters=True)
    assert (inside.pasted, inside.notes) == (True, ())
    for begun in ('"no such file" from the linker', "-pipe was given"):
        assert parse_query(f"{begun} {log}", filters=True).notes == query.notes

    plain = parse_query(re.sub(r'["-]|file:', "", log), filters=True)
    assert (plain.pasted, plain.notes) == (True, ())


@pytest.mark.parametrize(
    ("word", "expression"),
    [
        pytest.param("mlx5", '"mlx5"', id="number-at-the-end"),
        pytest.param("i40e", '"i40e"', id="number-inside"),
        pytest.param("sha256sum", '"sha256sum"', id="longer-number"),
        pytest.param("getHTTPResponse", '("gethttpresponse" OR ("get" AND "http" AND "response"))', id="camel"),
        pytest.param("очередью", '"очеред"*', id="cyrillic"),
        pytest.param("шлемы", '"шлем"*', id="five-letters"),
        pytest.param("шлемов", '"шлем"*', id="six-letters"),
        pytest.param("вода", '"вода"', id="short"),
        pytest.param("queues", '"queues"', id="latin"),
        pytest.param("ποτάμια", '("ποτάμια" OR "ποταμια")', id="greek"),
    ],
)
def test_a_name_is_one_word_and_a_cyrillic_word_is_looked_up_by_its_beginning(word: str, expression: str) -> None:
    assert [one.expression for one in parse_query(word).words] == [expression]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("type:,bugfix,", Filters(types=("bugfix",)), id="stray-commas"),
        pytest.param("TYPE:Bugfix", Filters(types=("Bugfix",)), id="key-in-capitals"),
        pytest.param("file:src/a,b.py", Filters(files=("src/a,b.py",)), id="a-file-may-hold-a-comma"),
        pytest.param("file:/home/ada/x.py", Filters(files=("/home/ada/x.py",)), id="absolute-file"),
        pytest.param("file:src/a.py:10-20", Filters(files=("src/a.py:10-20",)), id="file-with-lines"),
        pytest.param("since:7d since:1d", Filters(since="1d"), id="the-last-date-counts"),
        pytest.param("is:Pinned is:stale", Filters(states=("pinned", "stale")), id="states"),
    ],
)
def test_a_filter_is_cut_out_of_the_text(text: str, found: Filters) -> None:
    cut, rest, notes = cut_filters(f"queue {text} worker")
    assert (cut, rest.split(), notes) == (found, ["queue", "worker"], ())
    assert bool(cut)


@pytest.mark.parametrize(
    "text",
    [
        "net/mlx5: fix", "std::vector", "type::value", "http://example.org", "see https://example.org/type:x",
        r"file:\\server\share", "at 10:30", "queue", "", ":", "::::", "a:b",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_filter_stays_a_word(text: str) -> None:
    cut, rest, _ = cut_filters(text)
    assert (cut, rest) == (Filters(), text)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param("note:queue", reason("unknown_filter", key="note"), id="unknown"),
        pytest.param("is:bogus", reason("unknown_state", value="bogus"), id="unknown-state"),
        pytest.param("until: queue", reason("unread_filter", key="until"), id="without-a-value"),
        pytest.param('topic:"" queue', reason("unread_filter", key="topic"), id="empty-quotes"),
        pytest.param('topic:"auth queue', reason("unread_filter", key="topic"), id="open-quote"),
    ],
)
def test_what_is_no_filter_stays_in_the_text_and_is_said(text: str, note: Reason) -> None:
    assert cut_filters(text) == (Filters(), text, (note,))


def test_more_filters_than_anybody_types_are_words_and_are_said_in_few_sentences() -> None:
    cut, rest, notes = cut_filters(" ".join(f"type:t{number}" for number in range(40)))
    assert len(cut.types) == 16
    assert "type:t39" in rest
    assert notes == (reason("unread_filter", key="type"),)
    notes = cut_filters(" ".join(f"{letter}{letter}{letter}:x" for letter in "abcdefghijklmnopqrstuvw" * 9))[2]
    assert len(notes) == len(set(notes)) == 16


PIECES = st.one_of(
    st.sampled_from([*(f"{key}:" for key in KEYS), '"', ":", " ", ",", "-", "x", "\ud800", "\0"]), st.text(max_size=4)
)


@given(text=st.lists(PIECES, max_size=40).map("".join))
def test_nothing_is_invented_and_nothing_fails(text: str) -> None:
    cut, rest, notes = cut_filters(text)
    assert len(rest) <= len(text)
    assert len(notes) <= 16
    assert set("".join(rest.split())) <= set(text)
    assert cut_filters(text) == (cut, rest, notes)


SYNTAX = ["AND", "OR", "NOT", "NEAR(", '"', '""', "*", "^", ":", "-", "(", ")", "{", "}", "+", "title:", "\0", "'", ";"]
SCRIPTS = ["tokenStore", "rate_limit", "a-b", "v1.2", "用户登录", "キュー", "로그인", "ระบบ", "очередь"]
SCRIPTS += ["الرمز", "Straße", "İ", "🎉"]
PARTS = st.one_of(st.sampled_from(SYNTAX), st.sampled_from(SCRIPTS), st.text(max_size=12))
TYPED = st.one_of(st.text(), st.lists(PARTS, max_size=20).map(" ".join), st.lists(PARTS, max_size=20).map("".join))
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


@given(text=st.one_of(TYPED, st.lists(st.one_of(PARTS, MARKS), max_size=20).map("".join)))
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
