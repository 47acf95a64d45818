"""The preview of a hit: its passages, its opening, and summaries beside what they retell."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.recall.preview import PREVIEW_CHARS, Preview, preview, shares, with_opening
from engram_py.recall.reading import term_finder
from engram_py.recall.score import Term
from tests.recall.searching import silence

FILLER = "lorem ipsum " * 40


def shown(content: str, *stems: str, idf: float = 2.0) -> Preview:
    """The preview for a query of these stems; a ``!`` behind one says that it is rare."""
    terms = [Term(stem, stem, idf * (4 if stem.endswith("!") else 1), 1, (stem.removesuffix("!"),)) for stem in stems]
    return preview(content, terms, term_finder(terms))


def test_a_text_is_shown_from_the_words_that_were_looked_for_and_whole_where_it_is_short() -> None:
    found = shown(FILLER + "here the needle is " + FILLER, "missing", "needl")

    assert found.text.startswith("…")
    assert "here the needle is lorem" in found.text[:200]
    assert found.text.endswith("…")
    assert found.cut
    assert PREVIEW_CHARS - 12 < len(found.text) <= PREVIEW_CHARS
    text = shown(f"{FILLER}and the needle.", "needl").text

    assert text.endswith("and the needle.")
    assert PREVIEW_CHARS - 100 < len(text) <= PREVIEW_CHARS
    text = preview(FILLER).text
    assert text.startswith("lorem ipsum")
    assert set(text.removesuffix("…").split()) == {"lorem", "ipsum"}
    assert shown("One\n two\t three.", "two") == Preview("One two three.")


ENTRIES = "- An entry of no matter at all.\n" * 20
LOG = f"# Changes\n\n## 1.1.0 (2024-03-02)\n\n{ENTRIES}\n## 1.0.0 (2024-02-19)\n\n### Added\n\n{ENTRIES}- A needle.\n"


def test_headings_above_the_place_stand_before_it_but_for_the_title() -> None:
    text = shown(LOG + ENTRIES, "needl").text

    assert text.startswith("…1.0.0 (2024-02-19) › Added: ")
    assert "- A needle." in text
    assert shown(f"{FILLER}\n\n## Why\n\nA needle. {FILLER}", "needl").text.startswith("…## Why A needle.")
    assert preview("A needle.", above="## 1.0.0\n\n").text == "…1.0.0: A needle."


RECORD = (
    f"Date: 2024-03-02\n\n## Status\n\nAccepted\n\n## Why\n\nWe need a needle. {'All of it was sewn by hand. ' * 20}"
)


def test_a_date_and_labels_give_way_to_prose_where_no_word_is_found_there() -> None:
    assert shown(RECORD, "absent").text.startswith("…## Why We need a needle.")
    assert shown(RECORD, "accept").text.startswith("Date: 2024-03-02 ## Status Accepted ## Why")


QUESTION = f"Why does the queue stall under load? {'All of it was measured. ' * 6}We drain it twice."
APART = f"The queue {'lorem ipsum ' * 40}drains"
RARE = f"{FILLER}. The queue drains. {FILLER}. The needle. {FILLER}"
MARKS = unicodedata.normalize("NFD", "é" * 100 + " ")


@pytest.mark.parametrize(
    ("content", "stems", "said"),
    [
        pytest.param(f"{FILLER}. {QUESTION} {FILLER}", "queue stall", "We drain it twice.", id="what-follows"),
        pytest.param(
            f"Retries. {FILLER} A queue. {FILLER}. Then the retried queue was drained. {FILLER} Draining a queue.",
            "retri queue drain", "Then the retried queue was drained. lorem", id="where-most-words-stand-together",
        ),
        pytest.param(
            f"{FILLER}. {APART}. {FILLER}. {FILLER}. A queue drains. {FILLER}. {FILLER}. {APART}. {FILLER}",
            "queue drain", "A queue drains. lorem", id="words-nearer-to-each-other",
        ),
        pytest.param(RARE, "queue drain needl!", "The needle.", id="a-rare-word"),
        pytest.param(RARE, "queue drain needl", "The queue drains.", id="two-common-ones"),
        pytest.param(f"{FILLER * 300}. The needle is here. {FILLER * 300}", "needl", "The needle is here.", id="far"),
        pytest.param(f"{MARKS * 4}. The needle. {FILLER}", "needl", "The needle. lorem", id="marks-stored-apart"),
        pytest.param(MARKS, "needl", MARKS.strip(), id="nothing-of-it"),
        pytest.param(f"{FILLER} the BigNumbatBurrow is new {FILLER}", "numbat", "BigNumbatBurrow is new", id="part"),
    ],
)  # fmt: skip
def test_it_shows_the_place_that_tells_most_of_the_words(content: str, stems: str, said: str) -> None:
    assert said in shown(content, *stems.split()).text
    assert shown(f"Here is a needle. {FILLER}", "needl").text.startswith("Here is a needle")


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("x" * 300 + "lorem.\n\n", id="line"),
        pytest.param("x" * 300 + 'lorem "ipsum." ', id="sentence"),
        pytest.param("第一句话很长" * 50 + "。", id="another-script"),
    ],
)
def test_it_begins_with_a_sentence(before: str) -> None:
    assert shown(f"{before}The new needle is here. {FILLER}", "needl").text.startswith("…The new needle")


@pytest.mark.parametrize("before", ["a sentence that never ends, never a ", "x" * 80, "x" * 80 + "/", "第一句话很长"])
@pytest.mark.parametrize("limit", [120, 300, 900])
def test_of_a_sentence_without_an_end_the_words_are_shown(before: str, limit: int) -> None:
    content = f"{before * 40} needle {before * 40}"
    terms = [Term("needle", "needle", 2.0, 1, ("needl",))]

    assert "needle" in preview(content, terms, term_finder(terms), limit=limit).text


@pytest.mark.parametrize("text", ["x", "用户", " ", "\n", "a. ", "word "])
def test_a_megabyte_is_read_at_once(text: str) -> None:
    terms = [Term(stem, stem, 2.0, 1, (stem,)) for stem in ("needl", "word", "用户")]
    finder = term_finder(terms)
    content = text * (1_000_000 // len(text)) + " needle"
    started = time.process_time()
    found = preview(content, terms, finder, limit=800)

    assert time.process_time() - started < 2.0
    assert len(found.text) <= 800


PIECES = st.sampled_from(
    ["needle", "lorem ", " ", "\n\n", ". ", "x" * 90, "é", "e\u0301", "İ", "用户", "。", "\u2028", "…"]
)


@given(st.lists(PIECES, max_size=80).map("".join))
@example("x" * 400 + "needle")
@example(" " * 500 + "needle" + " " * 500)
@example("e\u0301" * 400 + " needle")
@example("word  " * 60)
@example("x" * PREVIEW_CHARS)
@example("x" * (PREVIEW_CHARS + 1))
def test_no_text_breaks_its_line(content: str) -> None:
    found = shown(content, "needl", "lorem", "用户")
    whole = " ".join(content.split())

    assert len(found.text) <= PREVIEW_CHARS
    assert found.cut == (len(whole) > PREVIEW_CHARS)
    assert found.cut or found.text == whole


def test_the_better_the_evidence_the_longer_the_passage_and_weak_evidence_gets_none() -> None:
    first, second, third = shares([1.0, 0.8, 0.8], [5_000, 5_000, 5_000], 2_000)

    assert first > 1.5 * second
    assert second == pytest.approx(third, abs=1)
    assert 1_990 < first + second + third <= 2_000
    assert shares([1.0, 0.5, 0.2], [5_000, 5_000, 5_000], 2_000) == [1_600, 400, 0]
    assert shares([1.0, 1.0], [80, 60], 200) == [80, 60]
    assert shares([1.0, 0.9], [100, 5_000], 2_000) == pytest.approx(
        [100, 1_900], abs=1
    )  # what a short one does not need goes to the others


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 50_000)), max_size=20),
    st.integers(-500, 3_000),
)
def test_the_passages_fit_into_the_room_there_is(hits: list[tuple[float, int]], room: int) -> None:
    scores = sorted((score for score, _ in hits), reverse=True)
    lengths = [length for _, length in hits]
    given_ = shares(scores, lengths, room)

    assert len(given_) == len(hits)
    assert sum(given_) <= max(0, room)
    assert all(0 <= part <= length for part, length in zip(given_, lengths, strict=True))


WHAT = "**What**: `pnpm prisma generate` is a step of its own."
WHY = "**Why**: a cache hit skips the build of the db package."
WHERE = "**Where**: .github/workflows/ci.yml"
LEARNED = "**Learned**: do not add generated clients to the outputs."


def test_what_was_learned_far_below_follows_what_was_done() -> None:
    content = "\n".join([WHAT, f"**Why**: {'because ' * 60}", WHERE, LEARNED])

    assert with_opening(content, f"…{LEARNED}") == f"{WHAT} …{LEARNED}"


def test_the_first_sentence_of_a_plain_text_comes_before_the_place_that_was_found_unless_that_is_it() -> None:
    content = f"Invoices are numbered without gaps. {'Filler words stand here. ' * 20}The counter row is locked."

    assert with_opening(content, "…The counter row is locked.") == (
        "Invoices are numbered without gaps. …The counter row is locked."
    )
    assert with_opening("Short and whole.", "Short and whole.") == "Short and whole."


def test_the_opening_of_a_text_is_its_first_prose() -> None:
    content = f"Date: 2024-03-02\n\n## Why\n\nWe need a needle to sew. {'Filler words stand here. ' * 20}It is thin."

    assert with_opening(content, "…It is thin.") == "We need a needle to sew. …It is thin."
    assert with_opening(content * 2, "…Why: We need a needle to sew.") == "…Why: We need a needle to sew."


@pytest.mark.parametrize("content", ["x" * 900, "**Where**: a.py", "", "…", "** **", "。" * 900])
def test_strange_texts_are_one_bounded_line(content: str) -> None:
    told = with_opening(content, f"…{content[-400:]}")

    assert len(told) <= PREVIEW_CHARS
    assert "\n" not in told


@given(st.text(max_size=2_000), st.text(max_size=PREVIEW_CHARS - 1))
def test_no_text_is_too_long(content: str, excerpt: str) -> None:
    assert len(with_opening(content, f"…{excerpt}")) <= PREVIEW_CHARS


def test_what_is_injected_begins_with_what_was_done(app: Engram) -> None:
    fix = "**What**: `pnpm prisma generate` is a step of its own before the build of everything else that is there."
    why = "**Why**: with a hit of the cache the db package is skipped, so the client has no types at all on the runner."
    end = "**Where**: .github/workflows/ci.yml\n**Learned**: do not add generated clients to the outputs of ci, ever."
    row = app.save(Draft("Fixed CI on a cold cache", f"{fix}\n{why}\n{end}", "bugfix")).id

    context = app.contexts.assemble(query="why is CI red on a cold cache?")

    assert context.remarks.excerpts[row].startswith(fix)


SAVED = {
    "s1": [
        ("Chose Meilisearch for product search", "**What**: Product search runs on Meilisearch.", "decision"),
        ("Fixed session timeout on slow networks", "**What**: The session cookie was dropped early.", "bugfix"),
    ],
    "s2": [
        ("Prices are integer cents", "**What**: Prices are kept in cents. Floats lost some.", "decision"),
        ("Release steps for the desktop app", "**What**: Tag, build, notarize, upload.", "pattern"),
    ],
}
SUMMARIES = {
    "s1": "## Goal\nReplace the product search\n\n## Accomplished\n- Chose Meilisearch for product search\n"
    "- Fixed the session timeout on slow networks\n\n## Next Steps\n- Index the reviews\n\n"
    "## Relevant Files\n- search/index.py",
    "s2": "## Goal\nPrices and the release\n\n## Accomplished\n- Prices are integer cents now; floats lost some\n"
    "- Wrote down the release steps for the desktop app\n\n## Next Steps\n- Notarize in CI",
}


@pytest.fixture
def told(app: Engram) -> Engram:
    for session_id, summary in SUMMARIES.items():
        for title, content, kind in SAVED[session_id]:
            app.save(Draft(title, content, kind), session_id=session_id)
        app.episodes.summarize(summary, session_id=session_id)
    return app


@pytest.mark.parametrize(
    ("query", "title"),
    [
        pytest.param("widgets search", "Chose Meilisearch for product search", id="project"),
        pytest.param("session timeout", "Fixed session timeout on slow networks", id="title"),
        pytest.param(
            "next release steps of the desktop app", "Release steps for the desktop app", id="next-steps-heading"
        ),
        pytest.param("files of the product search", "Chose Meilisearch for product search", id="files-heading"),
        pytest.param("goal of the integer cents", "Prices are integer cents", id="goal-heading"),
    ],
)
def test_a_decision_stands_above_the_summary_that_retells_it(told: Engram, query: str, title: str) -> None:
    found = told.search(query)
    assert found.results[0].title.startswith(title)


@pytest.mark.parametrize("query", ["relevant goal", "accomplished"])
def test_the_frame_of_summaries_answers_no_question(told: Engram, query: str) -> None:
    silence(told, query)
