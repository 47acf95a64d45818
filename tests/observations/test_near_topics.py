"""Which topic keys name the same answer."""

from __future__ import annotations

import pytest

from engram_py.observations.topic_keys import beginnings, nearest

FAMILIES = {"decision": "decision", "architecture": "architecture", "adr": "architecture", "topic": ""}


@pytest.mark.parametrize(
    ("key", "other"),
    [
        pytest.param("adr/auth-tokens", "architecture/tokens-auth", id="two-names-of-a-family"),
        pytest.param("topic/retry-policy", "decision/retry-policies", id="ies"),
        pytest.param("decision/postgres-for-the-ledger", "decision/ledger-postgres", id="stop-words"),
        pytest.param("decision/数据库", "topic/数据库", id="without-blanks"),
        pytest.param("decision/the-who", "decision/the-who", id="stop-words-alone"),
    ],
)
def test_a_key_with_the_same_words_is_near(key: str, other: str) -> None:
    assert nearest(key, [other], families=FAMILIES) == other


@pytest.mark.parametrize(
    "other",
    ["decision/auth", "decision/auth-token-scope-audit", "architecture/auth-token", "session/auth-token", "", "/"],
)
def test_a_key_of_another_family_or_with_two_other_words_is_not(other: str) -> None:
    assert nearest("decision/auth-token", [other], families=FAMILIES) is None


def test_of_several_the_same_key_comes_first_then_the_same_words() -> None:
    keys = ["auth-token", "decision/auth-token-scope", "decision/token-auth"]
    assert nearest("decision/auth-token", [*keys, "decision/auth-token"], families=FAMILIES) == "decision/auth-token"
    assert nearest("decision/auth-token", keys, families=FAMILIES) == "auth-token"
    assert nearest("decision/auth-token", keys[1:], families=FAMILIES) == "decision/token-auth"
    assert nearest("decision/auth-token", keys[1:2], families=FAMILIES) == "decision/auth-token-scope"


def test_keys_that_are_near_begin_with_a_family_or_a_word() -> None:
    assert beginnings("decision/retry-policies", families=FAMILIES) == (
        "decision/ret", "decision/polic", "ret", "polic", "topic/ret", "topic/polic", "decision/",
    )  # fmt: skip
