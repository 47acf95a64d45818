"""What came of what was given, of a memory and in all, beside what came of the moments without it."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.guidance.ledger.moments import Came, Kind
from engram_py.guidance.ledger.worth import Tally, difference
from engram_py.interfaces.wording.render import text
from engram_py.memory.observations.values import Change
from engram_py.memory.projects.values import UnknownProjectError
from tests.support import FakeClock, draft


@pytest.fixture
def row(app: Engram) -> int:
    return app.save(draft("Use pnpm, not npm.", type="decision")).id


def came(app: Engram, row: int, count: int, outcome: Came, *, kind: Kind = "guard", given: bool = True) -> None:
    for number in range(count):
        session_id = f"{kind}-{outcome}-{given}-{number}"
        app.sessions.start(session_id)
        app.moments.add(session_id, row, kind, "npm install", given=given, size=80 if given else 0)
        app.moments.came(session_id, row, kind, outcome)


def said(app: Engram) -> str:
    return text(app.worths.of(), now=app.journal.moment(), door="cli")


def test_nothing_given_is_said_in_a_line(app: Engram) -> None:
    assert said(app) == "No memory was given to an agent yet. Counting starts now."


def test_moments_are_counted_by_what_came_of_them(app: Engram, row: int) -> None:
    came(app, row, 3, "heeded")
    came(app, row, 1, "ignored")
    came(app, row, 1, "overruled")
    came(app, row, 2, "repeated", kind="fix")
    came(app, row, 2, "ignored", given=False)

    found = app.worths.of()
    guard, fix, memory = found.kinds
    assert guard.given == Tally(5, 3, 1, 0, 1, 0, 100, 0.6)
    assert guard.without == Tally(2, 0, 2, 0, 0, 0, 0, None)
    assert fix.given == Tally(2, 0, 0, 2, 0, 0, 40, None)
    assert memory.given == Tally()
    assert found.all == Tally(7, 3, 1, 2, 1, 0, 140, 0.4286)
    [one] = found.memories
    assert (one.id, one.given, one.without) == (row, found.all, guard.without)
    assert app.worths.of(row).memories == (one,)


def test_fewer_than_five_moments_have_no_share_and_no_difference(app: Engram, row: int) -> None:
    came(app, row, 4, "heeded")

    assert app.worths.of().kinds[0].given.share is None
    assert "guards: 4 with a known outcome, too few for a percentage" in said(app)
    assert "%" not in said(app)


def test_a_difference_is_said_with_its_interval(app: Engram, row: int) -> None:
    came(app, row, 9, "heeded")
    came(app, row, 1, "ignored")
    came(app, row, 2, "heeded", given=False)
    came(app, row, 8, "ignored", given=False)

    sentence = "guards: 90% of 10 were heeded; without it: 20% of 10 (+70 points; 95%: +27 to +87)"
    assert sentence in said(app)


def test_the_interval_is_newcombes(app: Engram) -> None:
    # Newcombe 1998, table II, example (a): 56/70 and 48/80, method 10.
    found = difference(Tally(70, 56, 14), Tally(80, 48, 32))
    assert (found.value, found.low, found.high) == (0.2, 0.0524, 0.3339)


def test_a_difference_that_may_be_chance_is_called_so(app: Engram, row: int) -> None:
    came(app, row, 5, "heeded")
    came(app, row, 1, "ignored")
    came(app, row, 3, "heeded", given=False)
    came(app, row, 2, "ignored", given=False)

    assert "which may be chance" in said(app)


def test_a_memory_that_was_cited_or_whose_file_was_edited_is_heeded(app: Engram, clock: FakeClock) -> None:
    row = app.save(draft("Tokens live fifteen minutes.", files=("auth.py",))).id
    for session_id in ("cited", "edited", "ignored", "unread"):
        app.sessions.start(session_id)
        app.citations.inject(session_id, {row: 40}, "prompt")
    app.citations.cite("cited", [row])
    app.moments.edited(["auth.py"], "edited")
    other = app.save(draft("Something else.")).id
    app.citations.cite("ignored", [other])  # so its messages were read

    assert app.worths.of().kinds[2].given == Tally(4, 2, 1, 0, 0, 1, 40, None)


@pytest.mark.parametrize("change", ["superseded", "corrected", "deleted"])
def test_a_memory_that_is_changed_while_the_session_runs_was_harmful(
    app: Engram, row: int, clock: FakeClock, change: str
) -> None:
    app.sessions.start("s1")
    app.citations.inject("s1", {row: 40}, "session")
    app.citations.cite("s1", [row])
    clock.advance(minutes=5)
    match change:
        case "superseded":
            newer = app.save(draft("Use npm again.", type="decision")).id
            app.relations.compare(newer, row, "supersedes", confidence=1.0, reasoning="the team went back")
        case "corrected":
            app.observations.update(row, Change(content="Use pnpm 10, not npm."))
        case "deleted":
            app.observations.delete(row)
    clock.advance(minutes=5)
    app.sessions.end("s1")

    given = app.worths.of().kinds[2].given
    assert (given.heeded, given.harmful) == (0, 1)


def test_a_change_after_the_session_is_no_harm(app: Engram, row: int, clock: FakeClock) -> None:
    app.sessions.start("s1")
    app.citations.inject("s1", {row: 40}, "session")
    app.citations.cite("s1", [row])
    app.sessions.end("s1")
    clock.advance(days=1)
    app.observations.update(row, Change(content="Use pnpm 10, not npm."))

    given = app.worths.of().kinds[2].given
    assert (given.heeded, given.harmful) == (1, 0)


def test_failures_before_a_fix_existed_are_what_it_is_compared_with(app: Engram, row: int) -> None:
    for number in range(6):
        app.sessions.start(f"f{number}")
        failure = {
            "session_id": f"f{number}", "command": "make", "directory": "/", "signature": "x", "excerpt": "x",
            "times": 1 + number % 2, "failed_at": app.journal.now(), "passed_at": app.journal.now(),
            "observation_id": row,
        }  # fmt: skip
        with app.store.transaction():
            app.store.insert("failures", failure)
    came(app, row, 6, "heeded", kind="fix")

    fix = app.worths.of().kinds[1]
    assert fix.without == Tally(6, 3, 0, 3, 0, 0, 0, 0.5)
    assert fix.difference is not None
    assert fix.difference.value == 0.5


def test_days_and_project_narrow_what_is_counted(app: Engram, row: int, clock: FakeClock) -> None:
    came(app, row, 2, "heeded")
    clock.advance(days=10)

    assert app.worths.of(days=7).count == 0
    assert app.worths.of(days=20, project="widgets").count == 1
    with pytest.raises(UnknownProjectError):
        app.worths.of(project="gizmos")


def test_what_is_retired_stands_first_and_is_said(app: Engram, row: int) -> None:
    other = app.save(draft("Never amend a pushed commit.", title="Amending", type="policy")).id
    came(app, other, 3, "overruled")
    came(app, row, 6, "heeded", kind="fix")

    assert [one.id for one in app.worths.of().memories] == [other, row]
    assert "off until `engram review` confirms it" in said(app)
