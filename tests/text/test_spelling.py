"""Which known words a misspelt one may mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.text.spelling import distance, may_be, meant, nearest_spelling, slips_allowed


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


@pytest.mark.parametrize(
    ("typed", "term", "written"),
    [
        ("libary", "librari", "library"),
        ("cahce", "cach", "cache"),
        ("refnud", "refund", "refund"),
        ("spaghetti", "spaghetti", "spaghetti"),
    ],
)
def test_a_term_of_the_index_is_written_as_near_to_what_was_typed_as_may_be(
    typed: str, term: str, written: str
) -> None:
    assert nearest_spelling(typed, term) == written
