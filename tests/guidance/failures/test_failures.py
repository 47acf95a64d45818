"""A command fails, is mended, passes, and fails again in another session."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.capture.acts import Act
from engram_py.guidance.failures.fixes import Advice
from engram_py.interfaces.wording.acting import ADVICE_BYTES, advice_text
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import arrival_of
from tests.memory.anchors.repositories import AUTH
from tests.support import FakeClock, Git, rows_of

MISSING = """Traceback (most recent call last):
  File "{root}/src/app.py", line {line}, in <module>
    import requestz
ModuleNotFoundError: No module named 'requestz'
"""
RUN = Act(command="python src/app.py")


class Agent:
    """A coding agent in one session, whose hooks call the memory."""

    def __init__(self, app: Engram, root: Path, session_id: str) -> None:
        self.app, self.root, self.session_id = app, root, session_id
        app.sessions.start(session_id)

    def fails(self, output: str, act: Act = RUN) -> Advice | None:
        self.did(act)
        advice = self.app.failures.failed(
            act, output, session_id=self.session_id, directory=self.root, until=time.monotonic() + 5
        )
        if advice is not None:
            self.app.failures.told(advice, session_id=self.session_id, size=len(advice_text(advice).encode()))
        return advice

    def advised(self, output: str, act: Act = RUN) -> Advice:
        """The advice on a failure that must have some."""
        advice = self.fails(output, act)
        assert advice is not None
        return advice

    def passes(self, act: Act = RUN) -> None:
        self.did(act)
        self.app.failures.passed(act, session_id=self.session_id, directory=self.root, until=time.monotonic() + 5)

    def did(self, act: Act) -> None:
        self.app.failures.did(act, session_id=self.session_id)

    def edits(self, *names: str) -> None:
        for name in names:
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{path.read_text() if path.exists() else ''}changed\n")
        self.did(Act(files=tuple(str(self.root / name) for name in names)))

    def runs(self, command: str) -> None:
        self.did(Act(command=command))


@pytest.fixture
def first(here: Engram, root: Path) -> Agent:
    return Agent(here, root, "first")


@pytest.fixture
def second(here: Engram, root: Path) -> Agent:
    return Agent(here, root, "second")


def broken(root: object = "/home/ada/widgets", line: int = 3) -> str:
    return MISSING.format(root=root, line=line)


def mended(agent: Agent) -> None:
    """The module is missing; the agent names it in a file, installs it, and the command passes."""
    agent.fails(broken())
    agent.edits("pyproject.toml")
    agent.runs("pip install requestz")
    agent.passes()


def the_fix(app: Engram) -> int:
    [line] = app.failures.fixes()
    return line.id


def test_an_error_that_returns_in_changed_form_is_answered_with_what_made_the_command_pass(
    first: Agent, second: Agent
) -> None:
    mended(first)

    advice = second.advised(broken("C:\\work\\other", line=41), Act(command="pytest -q tests"))

    said = advice_text(advice)
    assert "edited pyproject.toml; ran `pip install requestz`" in said
    assert "Now: pyproject.toml unchanged." in said
    assert len(said.encode()) <= ADVICE_BYTES


def test_nothing_is_said_before_the_same_command_passed(first: Agent, second: Agent) -> None:
    assert first.fails(broken()) is None
    first.edits("pyproject.toml")
    first.passes(Act(command="python src/other.py"))

    assert second.fails(broken()) is None
    assert first.app.failures.fixes() == ()


def test_a_command_that_passes_by_itself_leaves_no_fix(first: Agent) -> None:
    first.fails(broken())
    first.runs("cat src/app.py")
    first.passes()

    assert first.app.failures.fixes() == ()


def test_what_came_of_advice_is_recorded(first: Agent, second: Agent, root: Path) -> None:
    mended(first)
    second.fails(broken())
    second.edits("pyproject.toml")
    second.passes()
    third = Agent(first.app, root, "third")
    assert third.fails(broken()) is not None
    assert third.fails(broken(line=5)) is None, "it is said once a session"

    counts = first.app.moments.counts(the_fix(first.app))["fix"]
    assert (counts.given, counts.heeded, counts.repeated) == (2, 1, 1)


def test_a_fix_that_happens_again_is_one_memory_that_was_revised(first: Agent, second: Agent) -> None:
    mended(first)
    mended(second)

    [line] = first.app.failures.fixes()
    [remedy] = line.remedies
    assert remedy.times == 2
    assert rows_of(first.app, "observations") == 1


def test_two_causes_of_one_error_are_both_shown_and_the_later_comes_first(
    first: Agent, second: Agent, root: Path, clock: FakeClock
) -> None:
    mended(first)
    clock.advance(days=2)
    second.fails(broken())
    second.edits("venv.sh")
    second.passes()

    advice = Agent(first.app, root, "third").advised(broken())

    assert [one.files for one in advice.remedies] == [("venv.sh",), ("pyproject.toml",)]
    assert len(advice_text(advice).encode()) <= ADVICE_BYTES


def test_what_a_session_was_told_is_one_moment_however_often_it_is_recorded(first: Agent, second: Agent) -> None:
    mended(first)
    advice = second.advised(broken())

    second.app.failures.told(advice, session_id="second", size=100)

    assert second.app.moments.counts(advice.observation_ids[0])["fix"].given == 1


def test_more_than_two_causes_say_nothing(first: Agent, root: Path) -> None:
    for number in range(3):
        agent = Agent(first.app, root, f"session {number}")
        agent.fails(broken())
        agent.edits(f"file{number}.py")
        agent.passes()

    assert Agent(first.app, root, "last").fails(broken()) is None
    assert first.app.failures.explain(broken()).verdict == "several"


def test_a_fix_whose_files_are_gone_says_nothing(first: Agent, second: Agent, root: Path) -> None:
    first.fails(broken())
    first.edits(AUTH)
    first.passes()
    (root / AUTH).unlink()

    assert second.fails(broken()) is None
    assert first.app.failures.explain(broken()).verdict == "files_gone"


def test_the_commit_that_took_the_fix_in_is_told(first: Agent, second: Agent, root: Path, git: Git) -> None:
    mended(first)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "name the module")

    advice = second.advised(broken())

    assert f"commit {git(root, 'rev-parse', '--short', 'HEAD')}" in advice_text(advice)


def test_files_that_a_commit_changed_meanwhile_are_part_of_the_fix(
    first: Agent, second: Agent, root: Path, git: Git
) -> None:
    first.fails(broken())
    (root / "setup.cfg").write_text("x")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "by hand")
    first.passes()

    advice = second.advised(broken())

    assert advice.remedies[0].files == ("setup.cfg",)


def test_a_bug_fix_that_somebody_saved_with_the_error_speaks_from_the_first_day(first: Agent) -> None:
    text = "CI failed with `ModuleNotFoundError: No module named 'requestz'` until the extra was installed."
    saved = first.app.save(Draft("Install the extra", text, type="bugfix"))

    advice = first.advised(broken())

    assert advice.observation_ids == (saved.id,)
    assert "until the extra was installed" in advice_text(advice)


def test_a_memory_that_only_shares_words_with_the_error_says_nothing(first: Agent) -> None:
    first.app.save(Draft("Modules", "No module is named after a person; requestz is the one we use.", type="bugfix"))

    assert first.fails(broken()) is None


def test_what_the_agent_saved_while_mending_says_why(first: Agent, second: Agent) -> None:
    first.fails(broken())
    first.edits("pyproject.toml")
    first.app.observations.save(
        Draft("The lock file was older", "It was made before the module.", type="bugfix"), session_id="first"
    )
    first.passes()

    advice = second.advised(broken())

    assert "Why: The lock file was older" in advice_text(advice)
    assert len(advice.remedies) == 1


def test_what_the_agent_saved_soon_after_about_the_same_file_says_why(
    first: Agent, second: Agent, clock: FakeClock
) -> None:
    mended(first)
    clock.advance(minutes=2)
    note = Draft("The extra was missing", "pyproject.toml named it for tests alone.", type="bugfix")
    first.app.observations.save(note, session_id="first")

    advice = second.advised(broken())

    assert "Why: The extra was missing" in advice_text(advice)


def test_a_fix_that_came_from_elsewhere_is_silent_until_somebody_trusts_it(first: Agent, second: Agent) -> None:
    mended(first)
    store = first.app.store
    with store.transaction():
        arrival = arrival_of(store, "git:/elsewhere", "mallory", "mallory")
        store.update("observations", {"id": the_fix(first.app)}, {"arrival": arrival})

    assert second.fails(broken()) is None


def test_an_assertion_that_fails_says_nothing_even_when_it_failed_before(first: Agent, second: Agent) -> None:
    output = "t/test_a.py:5: AssertionError\nE   assert 3 == 4_total\nFAILED t/test_a.py::test_total - assert 3 == 4\n"
    first.fails(output)
    first.edits("src/total.py")
    first.passes()

    assert second.fails(output) is None
    assert first.app.failures.explain(output).verdict == "not_telling"


def test_a_line_that_many_errors_share_is_no_signature(first: Agent, second: Agent) -> None:
    for name in ("Invoice", "Customer", "Parcel"):
        first.fails(f"error: cannot link {name}_table\nerror: the build of shop_server failed with the linker\n")
    first.edits("link.sh")
    first.passes()

    assert second.fails("error: the build of shop_server failed with the linker\n") is None


def test_a_general_error_is_known_by_the_place_in_our_code(first: Agent, second: Agent) -> None:
    output = (
        'Traceback (most recent call last):\n  File "{0}/src/rates.py", line {1}, in load_rates\n    return rows[3]\n'
        "IndexError: list index out of range\n"
    )
    first.fails(output.format("/a", 3))
    first.edits("src/rates.py")
    first.passes()

    assert second.fails(output.format("/b", 9)) is not None
    assert second.fails(output.format("/b", 9).replace("load_rates", "load_users")) is None


def test_the_fix_is_found_by_search_and_stays_out_of_session_starts_and_review(first: Agent) -> None:
    mended(first)
    app = first.app

    assert [hit.id for hit in app.search("requestz module").results] == [the_fix(app)]
    shown = [item for section in app.contexts.assemble(None).sections for item in section.items]
    assert not any(isinstance(item, Observation) for item in shown), shown
    assert app.browsing.unconfirmed() == ()


def test_a_fix_that_somebody_rewrote_keeps_their_words(first: Agent, second: Agent) -> None:
    from engram_py.memory.observations.values import Change

    mended(first)
    fix = the_fix(first.app)
    text = "ModuleNotFoundError: No module named 'requestz': use the extra."
    first.app.observations.update(fix, Change(content=text))

    mended(second)

    assert first.app.get(fix).observation.content == text


def test_a_variable_that_makes_it_pass_is_part_of_the_fix(first: Agent, second: Agent) -> None:
    first.fails("KeyError: 'DATABASE_URL'\n")
    first.passes(Act(command="DATABASE_URL=sqlite:// python src/app.py"))

    advice = second.advised("KeyError: 'DATABASE_URL'\n")

    assert "it passed with `DATABASE_URL=sqlite:// python src/app.py`" in advice_text(advice)


def test_a_command_that_failed_as_well_is_no_part_of_the_fix(first: Agent, second: Agent) -> None:
    first.fails(broken())
    first.fails("pip: no such option: --requestz\n", Act(command="pip install --requestz"))
    first.edits("pyproject.toml")
    first.passes()

    advice = second.advised(broken())

    assert advice.remedies[0].commands == ()


def test_each_of_two_errors_of_one_command_is_mended_by_what_was_done_while_it_was_there(
    first: Agent, second: Agent
) -> None:
    first.fails(broken())
    first.edits("pyproject.toml")
    first.fails("KeyError: 'DATABASE_URL'\n")
    first.edits(".env.sample")
    first.passes()

    one, other = second.advised(broken()), second.advised("KeyError: 'DATABASE_URL'\n")

    assert (one.remedies[0].files, other.remedies[0].files) == (("pyproject.toml",), (".env.sample",))


def test_a_fix_that_did_more_harm_than_help_says_nothing_until_it_is_reviewed(first: Agent, second: Agent) -> None:
    mended(first)
    row = the_fix(first.app)
    for number in range(3):
        other = Agent(first.app, first.root, f"harmed{number}")
        assert other.fails(broken()) is not None
        first.app.moments.came(f"harmed{number}", row, "fix", "undone")

    assert second.fails(broken()) is None
    first.app.observations.mark_reviewed(row)
    assert second.fails(broken()) is not None
