"""What came of a memory that spoke unasked, and when it speaks no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engram_py import Engram
from engram_py.base.git.program import Deadline
from engram_py.guidance.ledger.moments import Came, Kind, Moments
from engram_py.memory.observations.listing import ReviewLine
from engram_py.memory.observations.values import Change, Observation
from engram_py.memory.projects.projects import Core
from tests.support import FakeClock, draft


@pytest.fixture
def row(app: Engram) -> int:
    """A memory about auth.py, and the session s1 that it is given to."""
    app.sessions.start("s1")
    return app.save(draft("Tokens live fifteen minutes.", type="decision", files=("src/auth.py",))).id


def came(app: Engram, row: int, *outcomes: Came, kind: Kind = "guard") -> None:
    for number, outcome in enumerate(outcomes):
        session_id = f"{kind}{number}{app.store.value('select count(*) from sessions')}"
        app.sessions.start(session_id)
        app.moments.add(session_id, row, kind, "npm install")
        app.moments.came(session_id, row, kind, outcome)


def outcomes(app: Engram) -> list[tuple[object, ...]]:
    return app.store.tuples("select kind, given, outcome from moments order by id")


def given(app: Engram) -> bool:
    """Return whether a new session is given the memory."""
    context = app.contexts.assemble(unasked=True)
    return any(isinstance(item, Observation) for section in context.sections for item in section.items)


# --- retirement -----------------------------------------------------------------------------------------------


def test_three_harmful_moments_without_help_retire_a_memory_until_it_is_reviewed(app: Engram, row: int) -> None:
    came(app, row, "overruled", "undone")
    assert given(app)
    came(app, row, "overruled")
    assert not given(app)
    assert app.search("tokens").results  # whoever asks finds it

    [line] = app.observations.due_for_review().items
    assert isinstance(line, ReviewLine)
    assert (line.id, line.review_after) == (row, "")

    app.observations.mark_reviewed(row)
    assert given(app)
    assert not app.observations.due_for_review().items


def test_no_unasked_door_gives_a_retired_memory(app: Engram, row: int) -> None:
    came(app, row, "overruled", "overruled", "overruled")

    assert app.prompt_gate.gated("how long do tokens live? token lifetime", "s1").shown is None
    files = app.session_memory.of_files(
        ["src/auth.py"], session_id="s1", without=set(), unnamed=set(), deadline=Deadline()
    )
    assert not any(section.items for section in files.sections)
    about = app.contexts.assemble(query="token lifetime", mode="query", unasked=True)
    assert not any(section.items for section in about.sections)


def test_as_much_help_as_harm_keeps_a_memory(app: Engram, row: int) -> None:
    came(app, row, "heeded", "heeded", "heeded", "overruled", "overruled", "overruled")

    assert given(app)


def test_the_last_ten_moments_decide(app: Engram, row: int, clock: FakeClock) -> None:
    came(app, row, *("heeded",) * 8)
    clock.advance(days=1)
    came(app, row, *("overruled",) * 4)
    assert given(app)
    came(app, row, *("overruled",) * 2)
    assert not given(app)


def test_a_citation_helps_against_a_harm(app: Engram, row: int) -> None:
    for number in range(3):
        app.sessions.start(f"c{number}")
        app.citations.inject(f"c{number}", {row: 40}, "prompt")
        app.citations.cite(f"c{number}", [row])
    came(app, row, "overruled", "overruled", "overruled")

    assert given(app)


def test_sessions_that_were_given_it_and_nothing_came_of_it_hide_no_harm(
    app: Engram, row: int, clock: FakeClock
) -> None:
    for number in range(3):
        clock.advance(days=1)
        for more in range(5):
            app.sessions.start(f"g{number}{more}")
            app.citations.inject(f"g{number}{more}", {row: 40}, "session")
        came(app, row, "overruled")

    assert not given(app)


def test_harm_before_a_review_is_forgiven(app: Engram, row: int, clock: FakeClock) -> None:
    came(app, row, "overruled", "overruled", "overruled")
    clock.advance(minutes=1)
    app.observations.accept(row)
    clock.advance(minutes=1)
    came(app, row, "overruled", "overruled")

    assert given(app)


def test_a_new_text_is_another_memory(app: Engram, row: int, clock: FakeClock) -> None:
    came(app, row, "overruled", "overruled", "overruled")
    clock.advance(minutes=1)
    app.observations.update(row, Change(content="Tokens live one hour."))

    assert given(app)


def test_a_moment_without_an_outcome_takes_one_and_keeps_it(app: Engram, row: int) -> None:
    app.moments.add("s1", row, "fix", "signature")
    app.moments.came("s1", row, "fix", "heeded")
    app.moments.came("s1", row, "fix", "ignored")
    assert outcomes(app) == [("fix", 1, "heeded")]
    app.moments.came("s1", row, "fix", "repeated", over=("heeded",))
    assert outcomes(app) == [("fix", 1, "repeated")]


# --- files ----------------------------------------------------------------------------------------------------


def test_an_edit_of_the_file_after_a_memory_was_given_is_its_use(app: Engram, row: int) -> None:
    app.citations.inject("s1", {row: 40}, "prompt")

    assert app.moments.edited(["/home/ada/widgets/src/other.py"], "s1") == 0
    assert app.moments.edited(["/home/ada/widgets/src/auth.py"], "s1") == 1
    assert app.moments.edited(["/home/ada/widgets/src/auth.py"], "s1") == 0
    assert outcomes(app) == [("file", 1, "heeded")]


def test_the_edit_that_a_line_came_with_is_not_counted_and_the_next_one_is(app: Engram, row: int) -> None:
    app.citations.inject("s1", {row: 40}, "file")
    app.moments.begin("s1", [row], "file", given=True)

    app.moments.edited(["src/auth.py"], "s1")
    assert outcomes(app) == [("file", 1, "")]
    app.moments.edited(["src/auth.py"], "s1")
    assert outcomes(app) == [("file", 1, "heeded")]


def test_an_edit_in_a_session_that_was_held_back_is_recorded_for_the_comparison(app: Engram, row: int) -> None:
    app.moments.begin("s1", [row], "prompt", given=False)
    app.moments.begin("s1", [row], "prompt", given=False)

    app.moments.edited(["src/auth.py"], "s1")
    assert outcomes(app) == [("prompt", 0, "heeded")]


# --- holding back ---------------------------------------------------------------------------------------------


def moments_with(app: Engram, holdout: float) -> Moments:
    core = app.core
    return Moments(Core(core.store, core.journal, core.projects, replace(core.settings, holdout=holdout)))


def test_nothing_is_held_back_unless_the_user_asked_for_it(app: Engram) -> None:
    assert not any(app.moments.holds_back(f"s{number}", "prompt", "#1") for number in range(1_000))


def test_a_tenth_of_sessions_is_held_back_alike_by_every_process(app: Engram) -> None:
    held = [moments_with(app, 0.1).holds_back(f"s{number}", "prompt", "#1") for number in range(1_000)]

    assert held == [moments_with(app, 0.1).holds_back(f"s{number}", "file", "#1") for number in range(1_000)]
    assert 70 <= sum(held) <= 130
