"""What one prompt deserves: at most one section, from what may be shown unasked, and usually nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.settings import Settings
from tests.context.prompting import asked, shown, text
from tests.memory import FakeClock


@pytest.mark.parametrize(
    ("prompt", "section", "found"),
    [
        ("who am I?", "identity", ["editor"]),
        ("wer bin ich", "identity", ["editor"]),
        ("why did we choose uv?", "memories", ["uv"]),
        ("how did we fix the flaky login test", "memories", ["login"]),
        ("make the `RateLimiter` bucket faster", "memories", ["limiter"]),
        ("billing retries?", "memories", ["billing"]),
        ("rename tests/test_login.py", "memories", ["login"]),
        ("open my editor", "memories", ["editor"]),
        ("do you remember my preference?", "memories", ["editor"]),
        ("what did we do last week?", "episodes", ["s-deploy"]),
        ("on wednesday?", "episodes", []),
        ("what is next?", "episodes", ["s-deploy", "s-parser"]),
        ("what happened on 2026-02-20?", "episodes", ["s-parser"]),
        ("remember when it crashed", "episodes", ["s-deploy"]),
        ("where were we?", "episodes", ["s-deploy", "s-parser"]),
        ("Please extend the flaky login test", "memories", ["login"]),
        ("Ada reports that the login is flaky", "memories", ["login"]),
        ("where were we with the parser?", "episodes", ["s-parser"]),
        ("what exactly did I say about the port?", "transcript", ["Let the server listen on port 8181."]),
    ],
)
def test_the_gate_picks_one_section(
    app: Engram, kept: dict[str, int], prompt: str, section: str, found: list[str]
) -> None:
    context = asked(app, prompt)

    if found:
        assert (context.section, shown(context)) == (section, [kept.get(name, name) for name in found])
    assert context.section == section


@pytest.mark.parametrize(
    "prompt",
    [
        "sort a list",
        "hi",
        "Reply with exactly the word OK",
        "use the exact words below",
        "why does the checkout fail since yesterday?",
        "send it on Tuesday",
        "continue",
        "what is the capital of France?",
        "remember when the whale sang",
        "why did we paint the whale?",
        "open my umbrella",
        "what exactly did I say about whales",
        "Run it before you commit",
        "change `WhaleSong` and docs/whales.md",
        "Upgrade the base image of the whale worker",
        "Update the login form and the whale page",
        "A customer complains that the whale shows up twice",
    ],
)
def test_silence_is_the_empty_text(app: Engram, kept: dict[str, int], prompt: str) -> None:
    assert text(app, asked(app, prompt)) == ""


def test_an_order_does_not_get_what_has_its_word_in_the_folders_of_a_path_alone(app: Engram) -> None:
    for number in range(5):
        where = f"backend/src/main/kotlin/shop/Total{number}.kt"
        app.save(Draft(f"Rounding of total {number}", f"Half up, once. **Where**: {where}", "bugfix"))

    assert text(app, asked(app, "update kotlin to 2.1")) == ""
    about = app.save(Draft("Kotlin stays at 2.0.21", "Compose breaks with 2.1.", "decision")).id
    assert shown(asked(app, "update kotlin to 2.1")) == [about]


def test_work_gets_what_has_two_of_its_words_and_not_what_has_the_rare_one_alone(app: Engram) -> None:
    for number in range(30):
        app.save(Draft(f"Worker note {number}", f"The worker of batch {number} restarts.", "decision"))
    alone = app.save(Draft("Whale census", "Counted from the shore.", "decision")).id
    both = app.save(Draft("Zebra census", "A worker counts each zebra.", "decision")).id

    assert text(app, asked(app, "Upgrade the whale worker")) == ""
    assert shown(asked(app, "Upgrade the zebra worker")) == [both]
    assert app.searches.search("whale worker").results[0].id == alone


@pytest.mark.parametrize("prompt", ["what's next?", "where were we?", "continue where we left off"])
def test_a_session_that_left_no_summary_is_told_by_what_it_saved_last(
    app: Engram, kept: dict[str, int], clock: FakeClock, prompt: str
) -> None:
    ids = []
    for number in range(5):
        ids.append(app.save(Draft(f"Step {number}", f"Text {number}.", "note"), session_id="s-untold").id)
        clock.advance(minutes=1)
    context = asked(app, prompt)

    assert shown(context) == ["s-untold", "s-deploy"]
    titles = "; ".join(f"Step {number} [#{ids[number]}]" for number in (4, 3, 2))
    assert f"- 2026-03-05 widgets: last saved {titles} [5 observations]" in text(app, context)


def test_an_old_session_that_was_taken_up_again_is_the_latest(app: Engram, kept: dict[str, int]) -> None:
    app.save(Draft("Quotes inside of quotes", "They are doubled.", "gotcha"), session_id="s-parser")

    assert shown(asked(app, "where were we?")) == ["s-parser", "s-deploy"]


def test_where_no_late_session_left_a_summary_the_latest_that_did_is_told_too(
    app: Engram, kept: dict[str, int], clock: FakeClock
) -> None:
    for session in ("s-1", "s-2", "s-3"):
        app.save(Draft(f"Saved in {session}", f"Text of {session}.", "note"), session_id=session)
        clock.advance(minutes=1)

    assert shown(asked(app, "where were we?")) == ["s-3", "s-2", "s-deploy"]


def test_a_session_of_which_nothing_may_be_said_takes_no_place(app: Engram, kept: dict[str, int]) -> None:
    gone = app.save(Draft("Gone", "Tomorrow.", "note"), session_id="s-gone")
    app.save(Draft("Use RS256", "The gateway verifies.", "decision"), session_id="s-kept")
    new = app.save(Draft("Came after", "It does.", "note"), session_id="s-kept")
    app.relations.compare(new.id, gone.id, "supersedes", confidence=0.9, reasoning="chosen later")

    assert shown(asked(app, "where were we?")) == ["s-kept", "s-deploy"]


def test_the_titles_of_a_session_hold_nothing_that_is_not_shown_unasked(app: Engram, clock: FakeClock) -> None:
    old = app.save(Draft("Use HS256 for tokens", "Simple.", "decision"), session_id="s-1")
    new = app.save(Draft("Use RS256 for tokens", "The gateway verifies.", "decision"), session_id="s-1")
    app.relations.compare(new.id, old.id, "supersedes", confidence=0.9, reasoning="chosen later")
    app.save(Draft("Elsewhere", "Of gadgets.", "note"), session_id="s-1", project="gadgets")

    said = text(app, asked(app, "where were we?"))

    assert f"last saved Use RS256 for tokens [#{new.id}] [" in said
    assert "HS256" not in said
    assert "Elsewhere" not in said


def test_a_day_without_sessions_gives_what_was_saved_on_it(app: Engram, clock: FakeClock) -> None:
    app.save(Draft("Older", "Text.", "note"))
    saved = app.save(Draft("Chose uv", "Fast.", "decision"))
    clock.advance(days=1)
    app.save(Draft("Chose ruff", "Fast.", "decision"))

    assert shown(asked(app, "what did we do yesterday")) == [saved.id]


def test_a_question_about_an_empty_time_gets_the_latest_and_is_told_so_and_an_order_gets_nothing(
    app: Engram, kept: dict[str, int]
) -> None:
    context = asked(app, "what did we discuss yesterday?")

    assert shown(context) == ["s-deploy", "s-parser"]
    assert "none of “yesterday”; the latest" in text(app, context)
    assert text(app, asked(app, "finish what was begun yesterday")) == ""


@pytest.mark.parametrize(("zone", "found"), [("UTC", True), ("America/Los_Angeles", False)])
def test_days_are_those_of_the_readers_zone(
    data_dir: Path, folder: Path, clock: FakeClock, zone: str, found: bool
) -> None:
    with Engram(settings=Settings(data_dir, clock=clock, timezone=zone), directory=folder) as app:
        clock.now = datetime(2026, 3, 3, 3, tzinfo=UTC)  # in California still the 2nd
        saved = app.save(Draft("Chose uv", "Fast.", "decision"))
        clock.now = datetime(2026, 3, 4, 20, tzinfo=UTC)

        context = asked(app, "what did we do yesterday?")

        assert shown(context) == ([saved.id] if found else ["manual-save-widgets"])
        assert context.today == "2026-03-04"


def test_a_reason_can_be_asked_of_a_time(app: Engram, clock: FakeClock) -> None:
    old = app.save(Draft("Chose poetry for packages", "Everybody knows it.", "decision"))
    clock.advance(days=40)
    app.save(Draft("Chose uv for packages", "It is fast.", "decision"))

    assert shown(asked(app, "why did we choose packages in March?")) == [old.id]


def test_an_order_gets_the_session_that_left_it_to_be_done(app: Engram) -> None:
    app.save(Draft("Blur limit 60", "Frames under it are not classified.", "decision"))
    left = app.episodes.summarize("Next: let the classifier skip blurry frames of the dock camera", session_id="b")

    assert shown(asked(app, "please make the classifier skip blurry frames of the dock camera")) == [left.id]
    assert shown(asked(app, "please make the classifier skip frames of whales")) == []


def test_one_name_alone_is_no_evidence(app: Engram) -> None:
    app.save(Draft("Kafka consumers commit after the write", "Else a crash loses records.", "decision"))
    asked_for = app.save(Draft("Kafka topics keep 14 days", "Replays need two weeks.", "config")).id

    assert shown(asked(app, "paint kafka by the sea")) == []
    assert shown(asked(app, "how many days do our kafka topics keep?")) == [asked_for]
