"""Words: normal forms, likeness, stop words, derived terms and near spellings."""

from __future__ import annotations

import sqlite3
import unicodedata
from contextlib import closing
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.base.errors import InvalidTextError, InvalidTopicKeyError
from engram_py.base.text.normalize import (
    TRUNCATION_MARKER,
    check_text,
    content_hash,
    folded,
    normalize_topic_key,
    truncate_utf8,
)
from engram_py.base.text.words import (
    STOP_WORDS,
    alike,
    camel_parts,
    derived_terms,
    distance,
    is_foreign,
    is_unspaced,
    jaccard,
    may_be,
    meant,
    nearest_spelling,
    pairs,
    shingles,
    slips_allowed,
    stop_words_of,
)


def test_a_text_that_fits_is_left_as_it_is_and_a_longer_one_cut_so_that_the_marker_fits_too() -> None:
    kept = truncate_utf8("naïve", 6)

    assert (kept.text, kept.original_bytes, kept.stored_bytes, kept.truncated) == ("naïve", 6, 6, False)
    kept = truncate_utf8("é" * 100, 50)

    assert kept.text == "é" * 17 + TRUNCATION_MARKER
    assert (kept.original_bytes, kept.stored_bytes, kept.truncated) == (200, 49, True)


@pytest.mark.parametrize(
    ("text", "limit", "kept"),
    [
        pytest.param("ae\u0301x", 3, "a", id="combining-accent"),
        pytest.param("a👩‍👩‍👧x", 12, "a", id="family"),
        pytest.param("a👍🏽x", 6, "a", id="skin-tone"),
        pytest.param("a🇩🇪🇫🇷", 14, "a🇩🇪", id="flag"),
        pytest.param("a☺\ufe0fx", 4, "a", id="variation-selector"),
    ],
)
def test_what_a_reader_sees_as_one_character_is_not_split(text: str, limit: int, kept: str) -> None:
    assert truncate_utf8(text, limit, marker="").text == kept


@given(st.text(), st.integers(0, 80))
def test_a_truncated_text_fits_and_begins_like_the_original(text: str, limit: int) -> None:
    kept = truncate_utf8(text, limit)

    assert len(kept.text.encode()) == kept.stored_bytes <= max(limit, 0)
    assert kept.truncated == (kept.text != text)
    assert text.startswith(kept.text.removesuffix(TRUNCATION_MARKER) if kept.truncated else kept.text)


@given(st.text(st.characters()), st.integers(-1, 40))
def test_truncating_never_fails(text: str, limit: int) -> None:
    assert len(truncate_utf8(text, limit).text) <= len(text) + len(TRUNCATION_MARKER)


@pytest.mark.parametrize(
    ("text", "what"),
    [pytest.param("a\x00b", "a NUL byte", id="nul"), pytest.param("a\ud800b", "a lone surrogate", id="surrogate")],
)
def test_what_is_not_text_is_refused_by_name(text: str, what: str) -> None:
    with pytest.raises(InvalidTextError) as refused:
        check_text("title", text)
    assert (refused.value.field, refused.value.what) == ("title", what)


@given(st.text(st.characters(max_codepoint=127)), st.sampled_from([" ", "\n", " \t\r\n", "\u3000"]))
def test_case_and_white_space_do_not_change_the_hash(text: str, space: str) -> None:
    assert content_hash(space + space.join(text.upper().split()) + space) == content_hash(text)


def test_accents_have_one_hash_and_control_characters_and_any_script_are_text() -> None:
    assert content_hash("Café") == content_hash("cafe\u0301") != content_hash("cafe")
    check_text("content", "\x1b[0m\t𝕏 日本語 👍🏽")


@pytest.mark.parametrize(
    ("raw", "key"),
    [
        pytest.param("  Decision/Auth  Tokens ", "decision/auth-tokens", id="case-and-space"),
        pytest.param("//a///b//", "a/b", id="slashes"),
        pytest.param("-/a b/-", "a-b", id="outer-marks"),
        pytest.param("Cafe\u0301", "café", id="accent"),
        pytest.param("決定/認証", "決定/認証", id="other-script"),
        pytest.param("x" * 119 + " yz", "x" * 119, id="cut-before-a-dash"),
    ],
)
def test_a_topic_key_has_one_spelling(raw: str, key: str) -> None:
    assert normalize_topic_key(raw) == key


@pytest.mark.parametrize("raw", ["", " / - ", "///", "…", "🙂"])
def test_a_topic_key_without_letter_or_digit_is_refused(raw: str) -> None:
    with pytest.raises(InvalidTopicKeyError):
        normalize_topic_key(raw)


@given(st.text(st.characters(), max_size=200))
def test_normalizing_a_topic_key_twice_changes_nothing_more(raw: str) -> None:
    try:
        key = normalize_topic_key(raw)
    except InvalidTopicKeyError:
        return
    assert normalize_topic_key(key) == key
    assert len(key) <= 120


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        pytest.param("Deployment failed twice", "deployments failed TWICE!", True, id="endings-and-case"),
        pytest.param("rate limit of ten", "entirely about parsing", False, id="nothing-shared"),
        pytest.param("设备连接失败", "设备连接失败了", True, id="a-script-without-spaces"),
        pytest.param("设备连接失败", "数据库迁移", False, id="another-matter-in-the-same-script"),
        pytest.param("", "", True, id="nothing-and-nothing"),
        pytest.param("", "words", False, id="nothing-and-something"),
    ],
)
def test_texts_are_compared_by_their_words(one: str, other: str, same: bool) -> None:
    assert (jaccard(shingles(one), shingles(other)) >= 0.7) is same


def test_a_long_text_is_compared_by_its_beginning() -> None:
    assert shingles("word " * 100 + "x" * 1_000_000) == {"word"}


WORDS = st.frozensets(st.sampled_from("abcdefgh"))


@given(WORDS, WORDS, st.sampled_from([0.5, 0.85, 1.0]))
def test_texts_are_alike_that_share_so_much_whatever_their_sizes(
    one: frozenset[str], other: frozenset[str], share: float
) -> None:
    assert alike(one, other, share) is (jaccard(one, other) >= share)


def telling(question: str) -> list[str]:
    words = question.split()
    nothing = stop_words_of(words)
    return [word for word in words if word.lower() not in nothing]


@pytest.mark.parametrize(
    ("question", "left"),
    [
        pytest.param("mag ik vrijdag uitrollen", ["vrijdag", "uitrollen"], id="dutch-order"),
        pytest.param("hoeveel geheugen heeft de pod nodig", ["geheugen", "pod"], id="dutch-amount"),
        pytest.param("Wat is de limiet van de api", ["limiet", "api"], id="dutch-what"),
        pytest.param("waar komt het model vandaan", ["model"], id="dutch-where"),
        pytest.param("was haben wir am Montag entschieden", ["Montag", "entschieden"], id="german-with-english-words"),
        pytest.param("hur gör vi en release", ["release"], id="swedish"),
        pytest.param("quando dobbiamo fare queste copie", ["fare", "copie"], id="italian"),
        pytest.param("onde estão nossas chaves", ["chaves"], id="portuguese"),
    ],
)
def test_the_small_words_of_a_foreign_question_say_nothing(question: str, left: list[str]) -> None:
    assert telling(question) == left
    assert is_foreign(question.split())


@pytest.mark.parametrize("question", ["convert wat to wasm", "vi mode", "van met op", "the kan board of our door"])
def test_what_is_english_or_a_programs_name_too_is_a_word_of_its_own(question: str) -> None:
    assert not is_foreign(question.split())
    assert {"wat", "vi", "van", "met", "op", "kan", "door"}.isdisjoint(STOP_WORDS)
    assert set(telling(question)) >= set(question.split()) & {"wat", "vi", "mode", "van", "met", "op", "kan", "door"}


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


def test_the_terms_of_several_texts_come_in_their_order_and_vowel_signs_are_in_no_pair() -> None:
    assert derived_terms("userId", "登录") == "user id 登录"
    assert pairs("ที่จัด") == ["ทจ", "จด"]
    assert pairs("\u0e31") == []


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


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [
        pytest.param("queue", "queue", 0, id="same"),
        pytest.param("queue", "quue", 1, id="missing"),
        pytest.param("queue", "queuee", 1, id="added"),
        pytest.param("queue", "qieue", 1, id="changed"),
        pytest.param("queue", "qeuue", 1, id="exchanged"),
        pytest.param("pgbouncer", "pgbuoncer", 1, id="exchanged-in-the-middle"),
        pytest.param("abcd", "badc", 2, id="two"),
        pytest.param("queue", "stack", 3, id="too-many"),
        pytest.param("queue", "q", 3, id="too-short"),
        pytest.param("", "", 0, id="nothing"),
    ],
)
def test_slips_are_letters_missing_added_changed_or_exchanged(one: str, other: str, slips: int) -> None:
    assert distance(one, other, 2) == slips


@given(one=st.text("abc", max_size=8), other=st.text("abc", max_size=8), most=st.integers(0, 3))
def test_slips_are_the_same_both_ways_and_never_counted_past_the_most(one: str, other: str, most: int) -> None:
    found = distance(one, other, most)
    assert found == distance(other, one, most)
    assert 0 <= found <= most + 1
    assert (found == 0) == (one == other)
    assert found == min(distance(one, other, 20), most + 1)


@pytest.mark.parametrize(
    ("word", "slips"), [("abc", 0), ("abcd", 1), ("abcdefg", 1), ("abcdefgh", 2), ("0x7f3a9c", 0), ("release2", 0)]
)
def test_a_short_word_or_a_number_may_not_slip_and_a_long_word_twice(word: str, slips: int) -> None:
    assert slips_allowed(word) == slips


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        pytest.param("pgbuoncer", [("pgbouncer", 1), ("pgvector", 9)], ("pgbouncer",), id="a-slip"),
        pytest.param("pgbo", [("pgbouncer", 1)], ("pgbouncer",), id="a-beginning"),
        pytest.param("conf", [("cong", 9), ("config", 1)], ("config", "cong"), id="beginnings-first"),
        pytest.param("quueu", [("queue", 1), ("queued", 1)], (), id="two-slips-in-a-short-word"),
        pytest.param("queu", [("quet", 3), ("quer", 9)], ("quer", "quet"), id="the-frequent-first"),
        pytest.param("queu", [("quet", 3), ("quer", 3)], ("quer", "quet"), id="then-by-letter"),
        pytest.param("aab", [("aabc", 1), ("aab", 1)], (), id="too-short"),
        pytest.param("abcd", [(f"abcd{letter}", 1) for letter in "efghij"], ("abcde", "abcdf", "abcdg"), id="three"),
    ],
)
def test_beginnings_come_before_slips(word: str, known: list[tuple[str, int]], found: tuple[str, ...]) -> None:
    assert meant(word, known) == found
    assert meant(word, reversed(known)) == found


@pytest.mark.parametrize(
    ("typed", "stem", "term", "is_one"),
    [
        pytest.param("redis", "redi", "redirect", False, id="a-stem-begins-another-word"),
        pytest.param("redis", "redi", "red", False, id="a-short-stem-is-a-slip-away"),
        pytest.param("apple", "appl", "applic", False, id="an-e-was-cut"),
        pytest.param("apple", "appl", "app", False, id="a-short-term-had-no-e"),
        pytest.param("apple", "appl", "appli", False, id="another-letter-in-a-short-word"),
        pytest.param("helm", "helm", "held", False, id="another-letter"),
        pytest.param("sentry", "sentr", "sent", False, id="a-y-is-no-ending"),
        pytest.param("netty", "nett", "next", False, id="a-y-and-a-letter"),
        pytest.param("cahce", "cahc", "cach", True, id="two-letters-swapped"),
        pytest.param("linnk", "linnk", "link", True, id="a-letter-doubled"),
        pytest.param("quey", "quei", "queri", True, id="a-letter-left-out"),
        pytest.param("conf", "conf", "config", True, id="a-beginning"),
        pytest.param("cahcing", "cahc", "cach", True, id="a-short-stem-with-two-letters-swapped"),
        pytest.param("refnuds", "refnud", "refund", True, id="an-ending-and-a-slip"),
        pytest.param("databse", "databs", "databas", True, id="as-it-is-written"),
        pytest.param("delivry", "delivr", "deliveri", True, id="a-y"),
        pytest.param("mitglieder", "mitglied", "mitgliedskarten", True, id="a-long-stem-of-a-compound"),
        pytest.param("musicians", "musician", "music", True, id="a-shorter-word"),
    ],
)
def test_a_word_may_be_what_it_resembles_as_it_was_typed(typed: str, stem: str, term: str, is_one: bool) -> None:
    assert may_be(typed, stem, term) is is_one


@pytest.mark.parametrize(("typed", "term", "written"), [
    ("libary", "librari", "library"), ("cahce", "cach", "cache"), ("refnud", "refund", "refund"),
    ("spaghetti", "spaghetti", "spaghetti"),
])  # fmt: skip
def test_a_term_of_the_index_is_written_as_near_to_what_was_typed_as_may_be(
    typed: str, term: str, written: str
) -> None:
    assert nearest_spelling(typed, term) == written


@pytest.mark.parametrize(("written", "typed"), [
    ("Βάση", "βαση"), ("ΣΊΣΥΦΟΣ", "σισυφος"), ("ещё", "еще"), ("Straße", "strasse"), ("STRASSE", "straße"),
    ("ＡＰＩ２", "api2"), ("ｗｅｂｈｏｏｋ", "Webhook"), ("ｶﾞｲﾄﾞ", "ガイド"), ("ışık", "isik"), ("IŞIK", "ışık"),
    ("İstanbul", "istanbul"),
    ("smørrebrød", "smorrebrod"), ("Łódź", "lodz"), ("Đường", "duong"), ("Ærø", "aero"), ("ﬁle", "file"), ("x²", "x2"),
    ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("أحمد", "احمد"), ("e\u0301te\u0301", "été"), ("Ἀθῆναι", "αθηναι"), ("ї", "і"),
])  # fmt: skip
def test_a_word_has_one_form_however_its_letters_are_written(written: str, typed: str) -> None:
    assert folded(written) == folded(typed)


@pytest.mark.parametrize(
    "text", ["हिन्दी", "ภาษาไทย", "น้ำ", "が", "ハンバーガー", "한국어", "検索", "a — “b” … c", "မြန်မာ"]
)
def test_marks_that_are_a_part_of_a_letter_stay(text: str) -> None:
    assert folded(text) == text


@given(st.text())
def test_folding_a_folded_text_changes_nothing(text: str) -> None:
    assert folded(folded(text)) == folded(text)


def test_every_letter_is_in_the_index_as_it_is_asked_for() -> None:
    """Either the tokenizer of SQLite folds a letter as we do, or the folded word is one of the derived terms."""
    letters = [one for one in map(chr, range(0x80, 0x20000)) if one.isalpha() and not is_unspaced(one)]
    words = [f"x{letter}x" for letter in letters if normalize("NFC", letter) == letter]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create virtual table words using fts5(w, t, tokenize = 'unicode61 remove_diacritics 2')")
        connection.execute("create virtual table found using fts5vocab(words, 'instance')")
        rows = [(number, word, derived_terms(word)) for number, word in enumerate(words)]
        connection.executemany("insert into words (rowid, w, t) values (?, ?, ?)", rows)
        held: dict[int, set[str]] = {}
        for number, term in connection.execute("select doc, term from found"):
            held.setdefault(number, set()).add(term)
        connection.execute("delete from words")
        connection.executemany(
            "insert into words (rowid, w, t) values (?, ?, '')", [(n, folded(w)) for n, w in enumerate(words)]
        )
        for number, term in connection.execute("select doc, term from found"):
            assert term in held[number], (words[number], unicodedata.name(words[number][1], ""))
