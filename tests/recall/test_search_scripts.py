"""Words of scripts whose vowels are marks: found as whole words, and silent where none of them is known."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.text.words import segments
from tests.recall.searching import ids, kept, silence

pytestmark = pytest.mark.usefixtures("others")

_TEXTS = (
    ("डेटाबेस का पासवर्ड", "डेटाबेस का पासवर्ड हर महीने बदलना चाहिए क्योंकि ग्राहक ने ऐसा कहा है।"),
    ("सर्वर की गति", "सर्वर की गति धीमी थी, इसलिए हमने कैश जोड़ा।"),
    ("भुगतान सेवा", "भुगतान सेवा में दोहराव की गड़बड़ी ठीक की गई।"),
    ("ரெடிஸ் கேச்", "நாங்கள் ரெடிஸ் கேச் பயன்படுத்துகிறோம்."),
)


@pytest.mark.parametrize(
    ("query", "number"),
    [
        pytest.param("डेटाबेस का पासवर्ड कब बदलना है", 0, id="a-question"),
        pytest.param("सर्वर धीमा क्यों था", 1, id="one-word-of-two"),
        pytest.param("भुगतान में दोहराव", 2, id="two-words"),
        pytest.param("ग्राहक", 0, id="a-word-of-the-text"),
        pytest.param("ரெடிஸ்", 3, id="tamil"),
    ],
)
def test_a_question_finds_its_memory_alone(app: Engram, query: str, number: int) -> None:
    rows = [kept(app, content, title=title) for title, content in _TEXTS]
    assert ids(app, query) == [rows[number]]


@pytest.mark.parametrize("query", ["मौसम कैसा है आज", "खाना बनाने का तरीका", "क्रिकेट मैच का परिणाम", "வானிலை எப்படி"])
def test_a_question_of_other_words_is_not_answered(app: Engram, query: str) -> None:
    for title, content in _TEXTS:
        kept(app, content, title=title)
    silence(app, query)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("भुगतान सेवा", ["भुगतान", "सेवा"], id="devanagari"),
        pytest.param("می\u200cخواهم", ["می\u200cخواهم"], id="a-joiner-within"),
        pytest.param("\u0301 ́a", ["a"], id="a-mark-alone"),
        pytest.param("user_id सेवा", ["user", "id", "सेवा"], id="beside-a-name"),
        pytest.param("सेवाบริการ", ["सेवा", "บริการ"], id="beside-a-script-without-blanks"),
    ],
)
def test_a_mark_belongs_to_the_letter_before_it(text: str, words: list[str]) -> None:
    assert segments(text) == words


@pytest.mark.parametrize(
    ("title", "query"),
    [
        ("Größe der Prüfläufe", "Prüfläufe"),
        ("Café cache", "café"),
        ("кэш платежей", "платежей"),
        ("数据库连接", "数据库"),
    ],
)
def test_a_word_of_a_suggested_topic_key_finds_what_holds_it(app: Engram, title: str, query: str) -> None:
    key = app.topics.suggest(title=title).topic_key
    saved = app.save(Draft("Kept", "Text.", "note", topic_key=key))

    assert [hit.id for hit in app.searches.search(query).results] == [saved.id]


@pytest.mark.parametrize("word", ["ᏣᎳᎩ", "ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ"], ids=["cherokee", "georgian-capitals"])
def test_a_word_of_capitals_younger_than_the_index_knows_is_found(app: Engram, word: str) -> None:
    saved = kept(app, f"{word} is a label of the map.")
    assert ids(app, word) == [saved]
