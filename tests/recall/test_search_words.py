"""Misspelt and shortened words, other names, and scripts whose vowels are marks."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.base.reasons import reason
from engram_py.base.text.words import segments
from engram_py.recall.query import parse_query
from tests.recall.searching import ids, kept, silence

pytestmark = pytest.mark.usefixtures("others")


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        pytest.param("pgbuoncer", "The pgbouncer pool.", id="exchanged"),
        pytest.param("pgbouncr", "The pgbouncer pool.", id="missing"),
        pytest.param("pgbouncerr", "The pgbouncer pool.", id="added"),
        pytest.param("pgbounser", "The pgbouncer pool.", id="changed"),
        pytest.param("pgbou", "The pgbouncer pool.", id="beginning"),
        pytest.param("databse", "The database.", id="a-stem-that-would-be-stemmed-again"),
        pytest.param("relase", "Release day.", id="another-one"),
        pytest.param("respones", "The response.", id="and-another"),
        pytest.param("polices", "Policies apply.", id="written-with-an-i"),
        pytest.param("зависвет", "Очередь зависает.", id="cyrillic"),
        pytest.param("ubersihct", "Übersicht der Zahlungen.", id="accents-and-two-slips"),
    ],
)
def test_a_misspelt_or_shortened_word_finds_what_it_means(app: Engram, typed: str, text: str) -> None:
    saved = kept(app, text)
    found = app.searches.search(typed, explain=True)
    assert [hit.id for hit in found.results] == [saved]
    assert found.explain is not None
    [rung] = [rung for rung in found.explain.rungs if rung.name == "prefix and near spelling"]
    assert [word for word, _ in dict(rung.why.facts)["forms"]] == [typed]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("word", "text", "title", "others"),
    [
        pytest.param("pgbouncery", "The pgbouncers of the club.", "Pgbouncery", ["The pgbouncer pool."], id="near"),
        pytest.param("raise", "An exception is what to raise here.", "Note",
                     [f"Increase and enlarge the heap {number}." for number in range(9)], id="other-name"),
        pytest.param("carpet", "The carpet of the hall is red.", "Note", ["The car pet of the vet."], id="in-two"),
    ],
)  # fmt: skip
def test_a_word_that_is_known_is_never_read_as_another(
    app: Engram, word: str, text: str, title: str, others: list[str]
) -> None:
    for other in others:
        kept(app, other)
    saved = kept(app, text, title=title)
    assert ids(app, word) == [saved]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        pytest.param("pgx", "The pgbouncer pool.", id="too-short"),
        pytest.param("redix", "The pgbouncer pool.", id="nothing-like-it"),
        pytest.param("xgbouncer", "The pgbouncer pool.", id="another-first-letter"),
        pytest.param("pgbnoucre", "The pgbouncer pool.", id="too-many-slips"),
        pytest.param("redis", "The redirect is red.", id="a-stem-that-resembles"),
        pytest.param("helm", "It is held back.", id="one-letter-of-four"),
        pytest.param("apple", "The application is applied.", id="the-stem-of-another"),
        pytest.param("proxy", "A pro wrote it.", id="a-beginning"),
        pytest.param("playstation", "They play.", id="a-short-word-in-a-long-one"),
        pytest.param("formation", "The form is sent.", id="another-short-word"),
        pytest.param("carpet", "The car of the vet is a pet to him.", id="halves-that-stand-apart"),
    ],
)
def test_a_word_is_not_read_as_what_it_only_resembles(app: Engram, typed: str, text: str) -> None:
    kept(app, text)
    assert silence(app, typed).unknown == (typed,)


def test_an_answer_says_which_word_it_read_as_another(app: Engram) -> None:
    saved = kept(app, "The pgbouncer pool is full.")
    note = reason("read_as", word="pgbuoncer", forms=("pgbouncer",))
    assert app.searches.search("pgbuoncer pool").warnings == (note,)
    assert app.searches.search("pgbuoncer tulips -pool").warnings == (
        reason("left_out", words=("pool",)),
    )  # not found by it
    assert app.searches.search(f"#{saved}").warnings == ()


FEEDING = "Futterautomaten: Fütterungsmengen kommen aus der Tabelle, das Wartungsfenster von Mattilsynet."


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("authentication", "The auth module signs cookies."),
        ("auth", "Authentication signs cookies."),
        ("deleted folders", "It removes the folder."),
        ("pictures of the kids", "A photo of two children."),
        ("int to str", "From an integer to a string."),
        ("intermittent segfault", "A flaky crash of the resolver."),
        ("yearly price", "The annual plan costs 24.99."),
        ("logins", "A page for signin."),
        ("gyroscope", "The gyro is calibrated at start-up for 3 seconds."),
        ("barometers", "The baro drifts."),
        *((beginning, FEEDING) for beginning in ("futter", "futterau", "fütterung", "wartung", "mattilsy", "mattil")),
    ],
)
def test_a_word_is_found_by_its_other_name_or_by_how_it_begins(app: Engram, question: str, text: str) -> None:
    saved = kept(app, text)
    assert ids(app, question) == [saved]


def test_a_short_word_of_several_things_has_no_other_name() -> None:
    assert [word.forms for word in parse_query("res sub org").words] == [(), (), ()]


# --- in one word and in two --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param("The time zone of the billing run is UTC.", "which timezone", id="in-two"),
        pytest.param("The time zones of the billing run differ.", "timezone", id="in-two-with-an-ending"),
        pytest.param("The hardfault handler of the board resets it.", "hard fault", id="in-one"),
        pytest.param("The hardfault handler of the board resets it.", "what does a hard fault do", id="in-a-question"),
        pytest.param("Der Zeitzonenwechsel stört die Abrechnung.", "zeitzonen wechsel", id="in-another-language"),
    ],
)
def test_a_word_is_found_as_another_writes_it(app: Engram, text: str, query: str) -> None:
    wanted = kept(app, text)
    assert ids(app, query)[:1] == [wanted]


def test_both_halves_are_known_from_elsewhere(app: Engram) -> None:
    kept(app, "It was a hard week for the whole crew.")
    kept(app, "The fault lies with the supplier of the cables.")
    wanted = kept(app, "A hardfault of the sensor board is logged with its registers.")
    assert wanted in ids(app, "hard fault registers")


def test_what_was_read_is_told(app: Engram) -> None:
    kept(app, "The time zone of the billing run is UTC.")
    kept(app, "A hardfault of the board.")
    as_two = reason("read", joined=(), forms=(("timezone", ("time zone",)),))
    for query, read in (("timezone", as_two), ("hard fault", reason("read", joined=("hardfault",), forms=()))):
        found = app.searches.search(query, explain=True)
        assert found.explain is not None
        assert read in [rung.why for rung in found.explain.rungs]


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


@pytest.mark.parametrize(("title", "query"), [
    ("Größe der Prüfläufe", "Prüfläufe"), ("Café cache", "café"), ("кэш платежей", "платежей"),
    ("数据库连接", "数据库"),
])  # fmt: skip
def test_a_word_of_a_suggested_topic_key_finds_what_holds_it(app: Engram, title: str, query: str) -> None:
    key = app.topics.suggest(title=title).topic_key
    saved = app.save(Draft("Kept", "Text.", "note", topic_key=key))

    assert [hit.id for hit in app.searches.search(query).results] == [saved.id]


@pytest.mark.parametrize("word", ["ᏣᎳᎩ", "ᲡᲐᲥᲐᲠᲗᲕᲔᲚᲝ"], ids=["cherokee", "georgian-capitals"])
def test_a_word_of_capitals_younger_than_the_index_knows_is_found(app: Engram, word: str) -> None:
    saved = kept(app, f"{word} is a label of the map.")
    assert ids(app, word) == [saved]


def test_row_107_a_part_of_a_word_finds_it_where_no_whole_word_is_known(app: Engram) -> None:
    app.observations.save(Draft("The web server is Starlette", "We chose the Starlette framework.", "decision"))

    found = app.searches.search("ramewor")

    assert [hit.title for hit in found.results] == ["The web server is Starlette"]
    assert reason("read_as", word="ramewor", forms=("framework",)) in found.warnings
    whole = app.searches.search("what did we decide about the framework")
    assert [hit.title for hit in whole.results] == ["The web server is Starlette"]
    assert app.searches.search("ram").results == ()  # too little of a word
