"""A suggested topic key says what kind of thing it is about, and is the same every time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.errors import EmptyFieldError
from engram_py.observations.topics import nearest, suggest_topic_key
from engram_py.text.normalize import normalize_topic_key


def key(title: str, content: str = "", type: str = "manual") -> str:
    return suggest_topic_key(type=type, title=title, content=content)


@pytest.mark.parametrize(
    ("type", "family"),
    [
        pytest.param("Bugfix", "bug", id="bugfix"),
        pytest.param("adr", "architecture", id="adr"),
        pytest.param("root_cause", "discovery", id="root-cause"),
        pytest.param("session_summary", "session", id="summary"),
        pytest.param("preference", "preference", id="unknown-type"),
        pytest.param("manual", "topic", id="manual"),
        pytest.param("", "topic", id="none"),
    ],
)
def test_the_type_names_the_family(type: str, family: str) -> None:
    assert key("Tabs, not blanks", type=type) == f"{family}/tabs-not-blanks"


@pytest.mark.parametrize(
    ("title", "family"),
    [
        pytest.param("The parser crashed twice", "bug", id="crashed"),
        pytest.param("Many errors in the log", "bug", id="errors"),
        pytest.param("TypeError on save", "bug", id="camel-case"),
        pytest.param("A regression since Monday", "bug", id="regression"),
        pytest.param("Service boundaries", "architecture", id="boundaries"),
        pytest.param("We chose SQLite", "decision", id="chose"),
        pytest.param("Naming of modules", "pattern", id="naming"),
        pytest.param("How the proxy is configured", "config", id="configured"),
        pytest.param("ENV files", "config", id="env"),
        pytest.param("Root cause of the delay", "discovery", id="two-words"),
        pytest.param("I learned to wait", "learning", id="learned"),
        pytest.param("Fixed the setup we chose", "bug", id="first-family-wins"),
        pytest.param("The prefix of a suffix", "topic", id="prefix-is-no-fix"),
        pytest.param("Environmental topics", "topic", id="environmental-is-no-env"),
        pytest.param("Debugging foundations", "topic", id="foundation-is-not-found"),
        pytest.param("Terrors and redesigners", "topic", id="inside-a-word"),
    ],
)
def test_whole_words_name_the_family_when_the_type_does_not(title: str, family: str) -> None:
    assert key(title).split("/")[0] == family


def test_the_family_is_not_said_twice() -> None:
    assert key("Decision: use SQLite", type="decision") == "decision/use-sqlite"


def test_without_a_title_the_first_eight_words_are_the_subject() -> None:
    assert key(" ", "one two three four five six seven eight nine") == "topic/one-two-three-four-five-six-seven-eight"


def test_private_passages_and_redactions_are_no_subject() -> None:
    assert key("Rotate <private>x</private> [REDACTED:jwt] keys") == "topic/rotate-keys"


@pytest.mark.parametrize(
    ("title", "subject"),
    [
        pytest.param("Größe der Prüfläufe", "große-der-pruflaufe", id="german"),
        pytest.param("Überprüfung für die Straße", "uberprufung-fur-die-straße", id="at-the-start"),
        pytest.param("Café  cache", "cafe-cache", id="french"),
        pytest.param("Cafe\u0301 cache", "cafe-cache", id="composed-otherwise"),
        pytest.param("Кэш платежей", "кэш-платежей", id="cyrillic"),
        pytest.param("йод и ёлка", "йод-и-ёлка", id="cyrillic-marks"),
        pytest.param("数据库 连接", "数据库-连接", id="chinese"),
        pytest.param("データベース", "データベース", id="japanese"),
        pytest.param("한국어 설정", "한국어-설정", id="korean"),
        pytest.param("हिन्दी खोज", "हिन्दी-खोज", id="vowels-that-are-marks"),
        pytest.param("İstanbul", "istanbul", id="turkish"),
        pytest.param("— 📦 —", "general", id="nothing-to-read"),
    ],
)
def test_the_letters_of_every_script_are_kept_and_latin_ones_without_accents(title: str, subject: str) -> None:
    assert key(title) == f"topic/{subject}"


def test_a_long_title_of_another_script_ends_at_the_limit() -> None:
    assert key("данные " * 40) == "topic/" + "данные-" * 14 + "да"


def test_there_must_be_something_to_name() -> None:
    with pytest.raises(EmptyFieldError):
        key(" ", "\n")


@given(st.text(max_size=150), st.text(max_size=60), st.text(max_size=130))
def test_a_suggestion_is_a_topic_key_as_it_stands(title: str, content: str, type: str) -> None:
    if not title.strip() and not content.strip():
        return
    suggested = key(title, content, type)
    assert normalize_topic_key(suggested) == suggested
    assert suggested.partition("/")[2].strip("-")


# --- near keys ----------------------------------------------------------------------------------------

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


def test_of_several_the_same_key_comes_first_then_the_same_words() -> None:
    keys = ["auth-token", "decision/auth-token-scope", "decision/token-auth"]
    assert nearest("decision/auth-token", [*keys, "decision/auth-token"], families=FAMILIES) == "decision/auth-token"
    assert nearest("decision/auth-token", keys, families=FAMILIES) == "auth-token"
    assert nearest("decision/auth-token", keys[1:], families=FAMILIES) == "decision/token-auth"
    assert nearest("decision/auth-token", keys[1:2], families=FAMILIES) == "decision/auth-token-scope"


@pytest.mark.parametrize(
    "other",
    ["decision/auth", "decision/auth-token-scope-audit", "architecture/auth-token", "session/auth-token", "", "/"],
)
def test_a_key_of_another_family_or_with_two_other_words_is_not(other: str) -> None:
    assert nearest("decision/auth-token", [other], families=FAMILIES) is None
