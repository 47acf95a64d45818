"""The text of a save: cut, redacted, dated, refused; and the topics that are suggested for it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Engram
from engram_py.base.errors import (
    EmptyFieldError,
    EngramError,
    InvalidArgumentError,
    InvalidTextError,
    InvalidTopicKeyError,
    TextTooLongError,
)
from engram_py.base.reasons import reason
from engram_py.base.text.normalize import normalize_topic_key
from engram_py.memory.observations.topics import nearest, suggest_topic_key
from engram_py.memory.observations.validation import absolute_paths
from engram_py.memory.observations.values import CONTENT_LIMIT_BYTES
from tests.support import FakeClock, draft, names, rows_of, whole

PASSWORD = "correct-" + "horse9-" + "Battery"
KEY = "AKIA" + "QZ3XW7RT" + "PLM4N2VB"


@pytest.mark.parametrize("size", [49_999, 50_000])
def test_a_text_within_the_limit_is_kept_whole(app: Engram, size: int) -> None:
    saved = app.save(draft("x" * size))
    assert saved.truncation is None
    assert len(whole(app, saved.id).content) == size


@pytest.mark.parametrize("letter", ["x", "é", "漢", "😀"])
def test_a_text_over_the_limit_is_cut_between_characters_and_the_answer_has_the_numbers(
    app: Engram, letter: str
) -> None:
    text = letter * 50_001
    saved = app.save(draft(text))

    content = whole(app, saved.id).content
    assert saved.truncation is not None
    assert saved.truncation.original_bytes == len(text.encode())
    assert saved.truncation.stored_bytes == len(content.encode()) <= saved.truncation.limit_bytes == CONTENT_LIMIT_BYTES
    assert content.endswith("... [truncated]")
    assert set(content.removesuffix("... [truncated]")) == {letter}
    assert len(content.encode()) > CONTENT_LIMIT_BYTES - 4
    assert "cut" in names(saved.warnings)


@pytest.mark.parametrize(
    ("kind", "due"),
    [
        pytest.param("decision", "2026-09-01T10:00:00.000Z", id="decision"),
        pytest.param("policy", "2027-03-01T10:00:00.000Z", id="policy"),
        pytest.param("preference", "2026-06-01T10:00:00.000Z", id="preference"),
        pytest.param("bugfix", None, id="others-never"),
    ],
)
def test_a_type_decides_when_a_row_is_looked_at_again(app: Engram, kind: str, due: str | None) -> None:
    saved = app.save(draft("Fifteen minutes.", type=kind))
    assert (saved.review_after, saved.state) == (due, "active")


def test_a_review_date_stays_within_a_shorter_month(app: Engram, clock: FakeClock) -> None:
    clock.now = datetime(2026, 8, 31, 12, tzinfo=UTC)
    assert app.save(draft("Fifteen minutes.", type="decision")).review_after == "2027-02-28T12:00:00.000Z"


def test_a_revision_starts_the_review_date_anew(app: Engram, clock: FakeClock) -> None:
    app.save(draft("Fifteen minutes.", topic_key="auth/tokens", type="decision"))
    clock.advance(days=31)
    revised = app.save(draft("One hour.", topic_key="auth/tokens", type="decision"))
    assert revised.review_after == "2026-10-01T10:00:00.000Z"


def test_secrets_are_gone_before_anything_is_stored(app: Engram, data_dir: Path) -> None:
    saved = app.save(
        draft(
            f"The pool uses password={PASSWORD} and <private>the harbour at nine</private> only.",
            title=f"Deploy with {KEY}",
            aliases=(f"aws {KEY}",),
            topic_key="deploy/keys",
        )
    )
    app.save(draft(f"Now password={PASSWORD} again.", topic_key="deploy/keys"))
    app.store.close()

    stored = b"".join(path.read_bytes() for path in data_dir.iterdir() if path.is_file())
    assert saved.redacted == 4
    assert reason("not_stored", count=4) in saved.warnings
    for secret in (PASSWORD, KEY, KEY.lower(), "harbour at nine"):
        assert secret.encode() not in stored


def test_what_is_only_a_secret_is_kept_as_a_mark_of_it(app: Engram) -> None:
    saved = app.save(draft(f"password={PASSWORD}"))
    assert "REDACTED" in whole(app, saved.id).content


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        pytest.param({"content": ""}, EmptyFieldError, id="no-content"),
        pytest.param({"content": " \n\t "}, EmptyFieldError, id="blank-content"),
        pytest.param({"title": ""}, EmptyFieldError, id="no-title"),
        pytest.param({"title": " \n "}, EmptyFieldError, id="blank-title"),
        pytest.param({"title": "x" * 10_000_000}, TextTooLongError, id="title-of-ten-megabytes"),
        pytest.param({"title": "x" * 1_001}, TextTooLongError, id="long-title"),
        pytest.param({"type": "x" * 65}, TextTooLongError, id="long-type"),
        pytest.param({"content": "a\0b"}, InvalidTextError, id="nul"),
        pytest.param({"title": "a\ud800b"}, InvalidTextError, id="lone-surrogate"),
        pytest.param({"aliases": ("a\ud800b",)}, InvalidTextError, id="surrogate-in-an-alias"),
        pytest.param({"operation_id": "\ud800"}, InvalidTextError, id="surrogate-in-the-operation"),
        pytest.param({"operation_id": "x" * 201}, TextTooLongError, id="long-operation"),
        pytest.param({"scope": "team"}, InvalidArgumentError, id="unknown-scope"),
        pytest.param({"topic_key": "//--//"}, InvalidTopicKeyError, id="topic-of-signs"),
    ],
)
def test_a_refused_save_writes_nothing(app: Engram, fields: dict[str, Any], refusal: type[EngramError]) -> None:
    with pytest.raises(refusal):
        app.save(draft(**({"content": "Fifteen minutes."} | fields)))
    for table in ("observations", "sessions", "projects", "sync_mutations", "save_operations"):
        assert rows_of(app, table) == 0


BLANKS: dict[str, Any] = {"type": " ", "tool_name": "  ", "topic_key": " ", "scope": "", "aliases": ("", "  ")}


@pytest.mark.parametrize("field", BLANKS)
def test_a_blank_in_an_optional_field_is_as_good_as_nothing(app: Engram, field: str) -> None:
    kept = whole(app, app.save(draft("Fifteen minutes.", **{field: BLANKS[field]})).id)
    assert (kept.type, kept.scope, kept.aliases) == ("manual", "project", "")
    assert (kept.tool_name, kept.topic_key) == (None, None)


def test_a_title_is_one_line(app: Engram) -> None:
    assert app.save(draft("Fifteen minutes.", title=" Token\n lifetime\t")).title == "Token lifetime"


def test_a_path_of_this_machine_is_pointed_out(app: Engram) -> None:
    saved = app.save(draft("See /home/ada/widgets/auth.py for it."))
    assert reason("path_of_machine", path="/home/ada/widgets/auth.py") in saved.warnings


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param("see /home/ana/app/main.py:12.", ["/home/ana/app/main.py"], id="linux"),
        pytest.param("(`/Users/ana/app`), again /Users/ana/app", ["/Users/ana/app"], id="mac-once"),
        pytest.param(r"C:\Users\Ana\app\main.py", [r"C:\Users\Ana\app\main.py"], id="windows"),
        pytest.param(r'"C:\\Users\\Ana\\app"', [r"C:\\Users\\Ana\\app"], id="windows-escaped"),
        pytest.param("file:///home/ana/x", ["/home/ana/x"], id="file-url"),
        pytest.param("/root/.ssh/config", ["/root/.ssh/config"], id="root"),
        pytest.param("src/home/page.tsx and /usr/lib/x and ~/.bashrc", [], id="not-a-home"),
        pytest.param("https://example.com/home/news /home/$USER/x /Users/{name}", [], id="urls-and-variables"),
    ],
)
def test_paths_below_a_home_directory_are_listed(text: str, paths: list[str]) -> None:
    assert absolute_paths(text) == paths


@given(st.text(st.sampled_from("/home/Usersax:\\. \"'`$"), max_size=60))
def test_looking_for_paths_never_fails(text: str) -> None:
    assert all(path in text for path in absolute_paths(text))


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


def test_a_suggested_key_has_its_family_once_and_a_short_public_subject() -> None:
    assert key("Decision: use SQLite", type="decision") == "decision/use-sqlite"
    assert key(" ", "one two three four five six seven eight nine") == "topic/one-two-three-four-five-six-seven-eight"
    assert key("Rotate <private>x</private> [REDACTED:jwt] keys") == "topic/rotate-keys"
    assert key("данные " * 40) == "topic/" + "данные-" * 14 + "да"


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
