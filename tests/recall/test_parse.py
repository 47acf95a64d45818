"""What is read of a query."""

from __future__ import annotations

import re

import pytest

from engram_py.reasons import reason
from engram_py.recall.query import MAX_QUERY_CHARS, MAX_WORDS, Filters, match_all, match_any, parse_query, quote


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


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("#12", 12),
        ("  #12 ", 12),
        ("[#12]", 12),
        ("12", None),
        ("#12 and more", None),
        ("#", None),
        ("#1234567890123456789", None),
    ],
)
def test_a_handle_names_an_observation(text: str, number: int | None) -> None:
    assert parse_query(text).observation_id == number


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


def test_an_expression_is_held_to_the_phrases_and_kept_from_the_excluded_words() -> None:
    query = parse_query('"retry queue" -redis -kafka', filters=True)
    assert query.restricted('"x"') == '(("x") AND ("retry queue")) NOT (("redis") OR ("kafka"))'
    assert parse_query("queue", filters=True).restricted('"x"') == '("x")'


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
        pytest.param("ποτάμια", '"ποτάμια"', id="greek"),
    ],
)
def test_a_name_is_one_word_and_a_cyrillic_word_is_looked_up_by_its_beginning(word: str, expression: str) -> None:
    assert [one.expression for one in parse_query(word).words] == [expression]
