"""A decision speaks before an act against it, once, and what came of that is counted; nothing else speaks."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.capture.acts import Act
from engram_py.base.errors import ConflictError, InvalidArgumentError, InvalidInputError
from engram_py.guidance.guards.values import (
    Guard,
    NoGuardError,
    Objection,
    from_json,
    to_json,
)
from engram_py.interfaces.wording.acting import objection
from engram_py.memory.privacy.provenance import arrival_of
from tests.memory.anchors.repositories import Repo
from tests.support import FakeClock, Git, raising, rows_of

NPM = Guard(command="npm *", use="pnpm", by="Ada")
MIGRATIONS = Guard(paths=("migrations/**",), deny="write", use="a new migration", by="Ada")
REQUESTS = Guard(added="import requests", within=("**/*.py",), use="httpx", by="Ada")


def saved(app: Engram, title: str = "Package manager") -> int:
    return app.save(Draft(title, "Chosen for its lock file.", "decision"), session_id="s1").id


def guarded(app: Engram, guard: Guard, title: str = "Package manager") -> int:
    number = saved(app, title)
    app.guards.add(number, guard)
    return number


def said(app: Engram, act: Act, root: Path, session: str = "s1") -> Objection | None:
    return app.guards.before(act, session_id=session, directory=root, until=time.monotonic() + 5)


def run(line: str) -> Act:
    return Act(command=line)


def edit(*files: str, added: str = "", removed: str = "") -> Act:
    return Act(files=files, added=added, removed=removed)


def outcomes(app: Engram) -> list[str]:
    return [row["outcome"] for row in app.store.rows("select outcome from moments order by id")]


# --- what speaks ------------------------------------------------------------------------------------------------------


def test_a_command_against_a_decision_is_warned_of_in_the_positive_form(here: Engram, root: Path) -> None:
    number = guarded(here, NPM)

    found = said(here, run("cd web && npm install left-pad"), root)

    assert found is not None
    assert not found.denies
    assert [(one.id, one.subject) for one in found.broken] == [(number, "cd web && npm install left-pad")]
    assert objection(found).startswith(f"Use pnpm (decision #{number}): `cd web && npm install left-pad` violates")
    assert said(here, run("echo npm"), root) is None


def test_the_same_is_said_once_a_session(here: Engram, root: Path) -> None:
    guarded(here, NPM)
    assert said(here, run("npm i"), root)
    assert said(here, run("npm i"), root) is None
    assert said(here, run("npm test"), root)
    assert said(here, run("npm i"), root, "s2")
    assert rows_of(here, "moments") == 3


def test_a_secret_in_a_command_is_neither_kept_nor_repeated(here: Engram, root: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    guarded(here, NPM)
    found = said(here, run(f"npm publish --token={secret}"), root)
    assert found is not None
    assert secret not in objection(found)
    assert secret not in here.store.value("select subject from moments")


def test_what_denies_says_it_every_time_and_who_lifts_it(here: Engram, root: Path) -> None:
    number = guarded(here, replace(NPM, strict=True))
    for _ in range(2):
        found = said(here, run("npm i"), root)
        assert found is not None
        assert found.denies
        assert f"engram guard off {number} --session s1" in objection(found)
        assert "said by Ada" in objection(found)


@pytest.mark.parametrize(
    "spelling", ["migrations/a.sql", "./migrations/a.sql", "src/../migrations/a.sql", "migrations\\a.sql"]
)
def test_a_file_is_known_however_it_is_spelt(here: Engram, root: Path, spelling: str) -> None:
    guarded(here, MIGRATIONS)
    assert said(here, edit(spelling), root)


def test_a_file_is_known_by_its_absolute_path_from_a_folder_and_through_links(here: Engram, root: Path) -> None:
    guarded(here, MIGRATIONS)
    (root / "migrations").mkdir()
    (root / "web").mkdir()
    (root / "old").symlink_to(root / "migrations")
    (root.parent / "way").symlink_to(root)

    assert said(here, edit(str(root / "migrations/a.sql")), root, "a")
    assert said(here, edit("../migrations/a.sql"), root / "web", "b")
    assert said(here, edit("old/a.sql"), root, "c")
    assert said(here, edit(str(root.parent / "way/migrations/a.sql")), root.parent / "way", "d")
    assert said(here, edit("web/migrations/a.sql"), root, "e") is None
    assert said(here, edit("/elsewhere/migrations/a.sql"), root, "f") is None


def test_a_link_in_a_guarded_folder_is_guarded_whatever_it_points_at(here: Engram, root: Path) -> None:
    guarded(here, MIGRATIONS)
    (root / "migrations").mkdir()
    (root / "migrations/a.sql").symlink_to(root / "README.md")
    assert said(here, edit("migrations/a.sql"), root)


def test_a_file_that_is_not_committed_yet_may_be_edited(here: Engram, root: Path, git: Git) -> None:
    guarded(here, replace(MIGRATIONS, deny=""))
    repo = Repo(root, git)
    repo.commit("old", {"migrations/1.sql": ["create"]})
    repo.write("migrations/2.sql", ["alter"])

    assert said(here, edit("migrations/2.sql"), root) is None
    assert said(here, edit("migrations/3.sql"), root) is None
    assert said(here, edit("migrations/1.sql"), root)
    repo.commit("new")
    assert said(here, edit("migrations/2.sql"), root)


def test_only_lines_that_are_new_are_added(here: Engram, root: Path) -> None:
    guarded(here, REQUESTS)
    (root / "a.py").write_text("import requests\nx = 1\n", encoding="utf-8")

    assert said(here, edit("b.py", added="import os\nimport requests\n"), root)
    assert said(here, edit("a.py", added="import requests\nx = 2", removed="import requests\nx = 1"), root) is None
    assert said(here, edit("a.py", added="import requests\nx = 2\n"), root) is None  # written anew
    assert said(here, edit("c.py", added="import requests_mock"), root) is None
    assert said(here, edit("c.md", added="import requests"), root) is None


def test_lines_that_go_and_expressions_are_guarded(here: Engram, root: Path) -> None:
    guarded(here, Guard(removed=r"@requires_\w+", regex=True, use="a stricter role"), "Roles")
    assert said(here, edit("a.py", removed="@requires_login\ndef x(): ...", added="def x(): ..."), root)
    assert said(here, edit("a.py", removed="@requires_login\nx", added="@requires_login\ny"), root, "s2") is None


def test_a_branch_is_guarded_alone_or_says_where_a_guard_holds(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-B", "main")
    guarded(here, Guard(branch="main", use="a branch"), "Branches")
    guarded(here, replace(NPM, branch="release-*"))

    assert said(here, edit("a.py"), root)
    assert said(here, run("git add . && git commit -m x"), root)
    assert said(here, run("git log"), root) is None
    assert said(here, run("npm i"), root) is None
    git(root, "checkout", "-q", "-b", "release-2")
    assert said(here, edit("a.py"), root, "s2") is None
    assert said(here, run("npm i"), root)


def test_a_personal_preference_holds_in_every_project_and_a_decision_in_its_own(here: Engram, root: Path) -> None:
    personal = here.save(Draft("Mine", "x", "preference", scope="personal"), project="elsewhere").id
    here.guards.add(personal, NPM)
    other = here.save(Draft("Theirs", "x", "decision"), project="elsewhere").id
    here.guards.add(other, Guard(command="make *"))

    assert said(here, run("npm i"), root)
    assert said(here, run("make"), root) is None


def test_what_was_replaced_or_deleted_says_nothing(here: Engram, root: Path) -> None:
    old, gone = guarded(here, NPM), guarded(here, Guard(command="make *"), "Make")
    new = saved(here, "Package manager again")
    here.relations.compare(new, old, "supersedes", confidence=1.0, reasoning="it moved")
    here.observations.delete(gone)
    assert said(here, run("npm i; make"), root) is None


def test_without_guards_or_acts_nothing_is_asked(here: Engram, root: Path) -> None:
    saved(here)
    assert said(here, run("npm i"), root) is None
    guarded(here, NPM, "Other")
    assert said(here, Act(), root) is None
    assert rows_of(here, "moments") == 0


def test_a_session_that_nobody_knows_is_made(here: Engram, root: Path) -> None:
    guarded(here, NPM)
    assert said(here, run("npm i"), root, "new")
    assert here.sessions.get("new").project == "widgets"


# --- from elsewhere ---------------------------------------------------------------------------------------------------


def foreign(app: Engram, guard: Guard) -> int:
    number = guarded(app, guard)
    with app.store.transaction():
        arrival = arrival_of(app.store, "git:widgets", "eve", "Eve")
        app.store.update("observations", {"id": number}, {"arrival": arrival})
    return number


def test_a_guard_from_elsewhere_does_nothing_and_says_so_once(here: Engram, root: Path) -> None:
    number = foreign(here, replace(NPM, strict=True, use="rm -rf"))

    found = said(here, run("npm i"), root)
    assert found is not None
    assert (found.broken, found.unchecked, found.denies) == ((), (number,), False)
    assert "rm -rf" not in objection(found)
    assert said(here, run("npm i"), root) is None

    here.observations.accept(number)
    assert said(here, run("npm i"), root, "s2")
    assert rows_of(here, "moments") == 1


def test_an_agent_that_repeats_a_foreign_text_does_not_take_its_guards_over(here: Engram, root: Path) -> None:
    number = foreign(here, NPM)
    here.save(Draft("Package manager", "Chosen for its lock file.", "decision"))
    rows = here.store.tuples("select id, arrival is null, guards is null from observations order by id")
    assert rows == [(number, False, False), (number + 1, True, True)]


def test_a_foreign_observation_is_accepted_before_it_is_guarded(here: Engram) -> None:
    with raising(ConflictError, "foreign_guard"):
        here.guards.add(foreign(here, NPM), MIGRATIONS)


def test_a_guard_of_another_version_or_hand_is_left_out() -> None:
    assert from_json('[{"command": "npm *"}, {"when": "full moon"}, 3, {"path": "x"}, {"added": 4}]') == (
        Guard(command="npm *"),
    )
    assert from_json("[") == from_json('{"command": "x"}') == from_json(None) == ()
    assert from_json(to_json((NPM, MIGRATIONS, REQUESTS))) == (NPM, MIGRATIONS, REQUESTS)


# --- what came of it --------------------------------------------------------------------------------------------------


def do(app: Engram, act: Act, root: Path, clock: FakeClock, session: str = "s1") -> Objection | None:
    found = said(app, act, root, session)
    clock.advance(seconds=1)
    app.guards.after(act, session_id=session, directory=root)
    clock.advance(seconds=1)
    return found


def test_an_act_after_which_the_session_ends_tells_nothing(here: Engram, root: Path, clock: FakeClock) -> None:
    guarded(here, NPM)
    do(here, run("npm i"), root, clock)
    do(here, run("ls"), root, clock)
    here.guards.settle("s1")
    assert outcomes(here) == [""]


FORCE = Guard(command="git push --force")
PRINTS = Guard(added="print(", within=("src/**",), use="logger", by="Ada")


@pytest.mark.parametrize(
    ("guard", "act", "later"),
    [
        pytest.param(NPM, run("npm i"), run("cd web && pnpm i"), id="what-to-use"),
        pytest.param(FORCE, run("git push --force"), run("git push"), id="without-the-option"),
        pytest.param(MIGRATIONS, edit("migrations/a.sql"), run("a new migration"), id="a-command-as-it-says"),
        pytest.param(replace(MIGRATIONS, deny=""), edit("migrations/1.sql"), edit("migrations/2.sql"), id="new-file"),
        pytest.param(REQUESTS, edit("a.py", added="import requests"), edit("a.py", added="import httpx"), id="text"),
        pytest.param(
            REQUESTS, edit("a.py", added="import requests"), edit("a.py", removed="import requests"), id="taken-back"
        ),
    ],
)
def test_a_later_act_that_does_as_it_says_was_heeding_it(
    here: Engram, root: Path, clock: FakeClock, git: Git, guard: Guard, act: Act, later: Act
) -> None:
    Repo(root, git).commit("old", {"migrations/1.sql": ["create"]})
    guarded(here, guard)
    do(here, act, root, clock)
    do(here, later, root, clock)
    here.guards.settle("s1")
    assert outcomes(here) == ["heeded"]
    do(here, act, root, clock)
    assert outcomes(here) == ["ignored"]


@pytest.mark.parametrize(
    ("guard", "act", "later"),
    [
        pytest.param(PRINTS, edit("src/a.py", added="print(1)"), edit("src/b.py", added="x = 1"), id="other-lines"),
        pytest.param(PRINTS, edit("src/a.py", added="print(1)"), edit("docs/b.md", added="logger"), id="elsewhere"),
        pytest.param(MIGRATIONS, edit("migrations/a.sql"), edit("src/a.py"), id="other-files"),
        pytest.param(FORCE, run("git push --force"), run("git status"), id="other-command"),
    ],
)
def test_a_later_act_about_something_else_tells_nothing(
    here: Engram, root: Path, clock: FakeClock, guard: Guard, act: Act, later: Act
) -> None:
    guarded(here, guard)
    do(here, act, root, clock)
    do(here, later, root, clock)
    here.guards.settle("s1")
    assert outcomes(here) == [""]


def test_a_commit_on_another_branch_is_heeding_the_guard_of_one(
    here: Engram, root: Path, clock: FakeClock, git: Git
) -> None:
    git(root, "checkout", "-q", "-B", "main")
    guarded(here, Guard(branch="main", use="a branch"), "Branches")
    do(here, run("git commit -m x"), root, clock)
    git(root, "checkout", "-q", "-b", "fix")
    do(here, run("git commit -m y"), root, clock)
    assert outcomes(here) == ["heeded"]


@pytest.mark.parametrize("strict", [False, True], ids=["warned", "denied"])
def test_an_act_that_was_not_done_was_heeded(here: Engram, root: Path, strict: bool) -> None:
    guarded(here, replace(NPM, strict=strict))
    assert said(here, run("npm i"), root)
    here.guards.settle("s1")
    assert outcomes(here) == ["heeded"]


def test_another_act_against_the_same_guard_is_ignoring_it(here: Engram, root: Path, clock: FakeClock) -> None:
    guarded(here, MIGRATIONS)
    do(here, edit("migrations/a.sql"), root, clock)
    do(here, edit("migrations/b.sql"), root, clock)
    here.guards.settle("s1")
    assert outcomes(here) == ["ignored", "ignored"]


def test_acts_at_the_same_time_are_one_act(here: Engram, root: Path, clock: FakeClock) -> None:
    guarded(here, MIGRATIONS)
    one, other = edit("migrations/a.sql"), edit("migrations/b.sql")
    assert said(here, one, root)
    assert said(here, other, root)
    clock.advance(seconds=1)
    here.guards.after(one, session_id="s1")
    here.guards.after(other, session_id="s1")
    here.guards.settle("s1")
    assert outcomes(here) == ["", ""]


def test_a_guard_that_is_silenced_is_silent_in_that_session_alone(here: Engram, root: Path, clock: FakeClock) -> None:
    number = guarded(here, replace(NPM, strict=True))
    do(here, run("npm i"), root, clock)

    silenced = here.guards.off(number)

    assert silenced.sessions == ("s1",)
    assert outcomes(here) == ["overruled"]
    assert said(here, run("npm i"), root) is None
    assert said(here, run("npm i"), root, "s2")
    here.guards.on(number)
    assert said(here, run("npm i"), root)


def test_a_guard_that_is_overruled_in_three_sessions_is_due_for_review(
    here: Engram, root: Path, clock: FakeClock
) -> None:
    number = guarded(here, NPM)
    for session in ("a", "b", "c"):
        assert said(here, run("npm i"), root, session)
        assert not here.observations.due_for_review().items
        silenced = here.guards.off(number, session_id=session)
    assert (silenced.overruled, silenced.to_review) == (3, True)
    assert [one.id for one in here.observations.due_for_review().items] == [number]
    [line] = here.guards.listed()
    assert (line.fired, line.overruled, line.to_review) == (3, 3, True)
    assert said(here, run("npm i"), root, "d") is None

    clock.advance(seconds=1)
    here.observations.mark_reviewed(number)
    assert said(here, run("npm i"), root, "d")
    assert not here.guards.listed()[0].to_review


def test_a_guard_is_silenced_in_every_open_session(here: Engram, root: Path) -> None:
    number = guarded(here, NPM)
    here.sessions.start("s9", directory=str(root))
    assert set(here.guards.off(number, everywhere=True).sessions) == {"s1", "s9"}
    here.sessions.end("s1")
    here.sessions.end("s9")
    other = here.save(Draft("Elsewhere", "x", "decision"), project="gadgets").id
    here.guards.add(other, NPM)
    assert here.guards.off(other, session_id="s1").sessions == ("s1",)


def test_without_an_open_session_there_is_nothing_to_silence(here: Engram) -> None:
    number = guarded(here, NPM)
    here.sessions.end("s1")
    with raising(InvalidInputError, "no_session"):
        here.guards.off(number)


# --- keeping guards ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "guard",
    [
        pytest.param(Guard(), id="nothing"),
        pytest.param(Guard(use="x"), id="only-what-to-use"),
        pytest.param(Guard(command="npm", paths=("x",)), id="two"),
        pytest.param(Guard(command="npm", within=("x",)), id="in-without-text"),
        pytest.param(Guard(command="* install"), id="any-program"),
        pytest.param(Guard(added="(a", regex=True), id="no-expression"),
        pytest.param(Guard(added="x\ny"), id="lines"),
        pytest.param(Guard(command="npm", use="x" * 400), id="long"),
        pytest.param(Guard(command="curl -H ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"), id="secret"),
        pytest.param(Guard(command="npm\0"), id="nul"),
        pytest.param(Guard(paths=("x",), deny="read"), id="deny"),
    ],
)
def test_what_is_no_guard_is_refused(here: Engram, guard: Guard) -> None:
    with pytest.raises(InvalidArgumentError if "\0" not in guard.command else Exception):
        guarded(here, guard)
    assert not here.guards.any()


@pytest.mark.parametrize(
    "guard",
    [Guard(paths=("**",)), Guard(paths=("*",)), Guard(added="x*", regex=True), Guard(added=".", regex=True)],
)
def test_a_guard_that_matches_everything_is_refused(here: Engram, guard: Guard) -> None:
    with raising(ConflictError, "guard_too_wide"):
        guarded(here, guard)


def test_a_guard_says_how_often_it_would_have_spoken(here: Engram, root: Path, git: Git) -> None:
    repo = Repo(root, git)
    for number in range(12):
        repo.commit("more", {f"src/{number}.py": [f"import requests  # {number}"], "docs/x.md": [str(number)]})
    number = saved(here)

    with raising(ConflictError, "guard_too_wide") as refused:
        here.guards.add(number, Guard(paths=("src/**",), deny="write"))
    assert (refused.value.facts["files"], refused.value.facts["of"]) == (14, 15)
    with raising(ConflictError, "guard_too_wide"):
        here.guards.add(number, REQUESTS)
    done = here.guards.add(number, Guard(paths=("docs/**",)))
    assert (done.hits, done.commits) == (11, 14)


def test_guards_are_added_listed_and_removed_one_by_one(here: Engram) -> None:
    number = guarded(here, NPM)
    here.guards.add(number, MIGRATIONS)
    here.guards.add(number, replace(NPM, by="Grace"))  # said again

    assert [(one.number, one.rule.kind) for one in here.guards.listed()] == [(1, "path"), (2, "command")]
    with pytest.raises(NoGuardError):
        here.guards.remove(number, 3)
    here.guards.remove(number, 1)
    assert [one.rule.kind for one in here.guards.listed()] == ["command"]
    here.guards.remove(number)
    assert here.guards.listed() == ()
    with pytest.raises(NoGuardError):
        here.guards.off(number)


def test_a_guard_says_who_said_it(here: Engram, root: Path, git: Git) -> None:
    git(root, "config", "user.name", "Grace Hopper")
    number = saved(here)
    here.guards.add(number, Guard(command="npm *"))
    assert here.guards.listed()[0].rule.by == "Grace Hopper"


def test_a_warning_may_be_held_back_on_purpose_and_a_denial_never(
    here: Engram, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here.moments, "holds_back", lambda *_: True)
    guarded(here, NPM)
    assert said(here, run("npm i"), root) is None
    here.guards.after(run("npm i"), session_id="s1", directory=root)
    here.guards.after(run("npm test"), session_id="s1", directory=root)
    assert here.store.tuples("select given, outcome from moments") == [(0, "ignored")]
    [held, *_] = here.worths.of().kinds
    assert (held.given.moments, held.without.ignored) == (0, 1)

    guarded(here, replace(NPM, command="yarn *", strict=True), "Denied")
    found = said(here, run("yarn add x"), root)
    assert found is not None
    assert found.denies
