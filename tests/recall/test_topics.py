"""Which topic keys are about a word of a question."""

from __future__ import annotations

import pytest

from engram_py.recall.score.topics import begins_topic, share_held, shares_a_word


@pytest.mark.parametrize(
    ("key", "word"),
    [
        pytest.param("queue/retry", "retry", id="the-word"),
        pytest.param("queue/retry", "retries", id="another-form"),
        pytest.param("auth/login", "authentication", id="its-beginning"),
        pytest.param("bug/authentication", "auth", id="what-it-begins"),
        pytest.param("auth/ttl", "ttl", id="short"),
        pytest.param("config/ci-cache", "ci", id="a-stop-word-elsewhere"),
        pytest.param("test/pruflaufe", "Prüfläufe", id="accents"),
        pytest.param("rule/written-down", "write", id="irregular"),
        pytest.param("bug/stopped-clock", "stop", id="doubled"),
        pytest.param("db/数据库连接", "数据", id="unspaced"),
    ],
)
def test_a_key_is_near_that_holds_a_word_or_a_form_of_it(key: str, word: str) -> None:
    assert shares_a_word(key, [word], families=("bug",))


@pytest.mark.parametrize(
    ("key", "word"),
    [
        pytest.param("bug/login", "bug", id="the-family"),
        pytest.param("pool/carried-over", "overview", id="a-stop-word"),
        pytest.param("pool/transport", "transfer", id="alike-at-the-beginning"),
        pytest.param("pool/size", "side", id="three-letters"),
        pytest.param("pool/", "size", id="no-subject"),
        pytest.param("bug/stripped-serializers", "stripe", id="a-word-that-doubles-its-last-letter"),
    ],
)
def test_another_key_is_not(key: str, word: str) -> None:
    assert not shares_a_word(key, [word], families=("bug",))


@pytest.mark.parametrize(
    ("words", "share"),
    [
        (["classifier", "frames", "blurry", "whale"], 0.75),
        (["export"], 0.0),
        (["网关"], 1.0),
        ([], 0.0),
    ],
)
def test_a_text_holds_words_in_their_other_forms(words: list[str], share: float) -> None:
    assert share_held("Blur: frames are not classified, with exponential backoff of the 网关", words) == share


def test_a_topic_begins_with_the_thing_it_is_about() -> None:
    assert begins_topic(["scans"], "decision/scan-timeout")
    assert not begins_topic(["timeout"], "decision/scan-timeout")
    assert not begins_topic(["scan"], "decision")
    assert not begins_topic(["test"], "bug/test-clock")
