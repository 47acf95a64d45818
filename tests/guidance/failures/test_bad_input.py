"""Very long outputs, secrets, floods, and two agents at once."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.capture.acts import Act
from engram_py.base.settings import Settings
from engram_py.guidance.failures import failures as table
from engram_py.guidance.failures.signature import flattened, is_in, normalized, signature_of
from tests.guidance.failures.test_failures import MISSING, RUN, Agent
from tests.support import rows_of

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
ERROR = "ModuleNotFoundError: No module named 'requestz'\n"


@pytest.fixture
def agent(here: Engram, root: Path) -> Agent:
    return Agent(here, root, "first")


def test_of_fifty_megabytes_only_the_ends_are_read() -> None:
    begun = time.process_time()
    found = signature_of("error: cannot find some_name_here\n" * 1_500_000 + ERROR)

    assert "no module named 'requestz'" in found.keys
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "line", ["error " * 10_000_000, "'" * 200_000, "/a" * 100_000, "\x1b]" * 100_000, ": a" * 60_000]
)
def test_no_line_takes_long(line: str) -> None:
    begun = time.process_time()
    signature_of(f"error: {line}")

    assert time.process_time() - begun < 2


def test_a_secret_in_command_output_or_edit_never_reaches_the_file(agent: Agent, data_dir: Path) -> None:
    command = Act(command=f"deploy --token {TOKEN} target_host")
    agent.fails(f"fatal: cannot open 'https://x:{TOKEN}@host/shop_repo': the {TOKEN} is refused\n" + ERROR, command)
    agent.runs(f"export GITHUB_TOKEN={TOKEN} && npm install")
    agent.edits(f"{TOKEN}.env", "settings.py")
    agent.passes(command)

    assert rows_of(agent.app, "observations") == 1
    agent.app.close()
    assert not any(TOKEN.encode() in file.read_bytes() for file in data_dir.rglob("*") if file.is_file())


def test_a_failure_in_a_loop_is_one_row_that_counts(agent: Agent) -> None:
    for _ in range(30):
        agent.fails(ERROR)

    assert rows_of(agent.app, "failures") == 1
    assert agent.app.store.value("select times from failures") == 30


def test_a_flood_of_failures_keeps_the_latest_alone(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MOST_FAILURES", 20)
    for number in range(60):
        agent.fails(f"ModuleNotFoundError: No module named 'module_{'x' * number}'\n", Act(command=f"run {number}"))
        agent.edits("a.py")

    assert rows_of(agent.app, "failures") == 20
    assert rows_of(agent.app, "repairs") <= 20


def test_a_failure_has_a_bounded_number_of_repairs(agent: Agent) -> None:
    agent.fails(ERROR)
    for number in range(table.MOST_REPAIRS + 20):
        agent.runs(f"npm install package{number}")

    assert rows_of(agent.app, "repairs") == table.MOST_REPAIRS


def test_nothing_is_kept_of_an_output_that_tells_no_error(agent: Agent) -> None:
    for output in ("", "\n\n", "\x00\x1b[31m", "done", "exit status 1", "FAIL", "Error: \n", "🙂 error 🙂"):
        assert agent.fails(output) is None
    assert rows_of(agent.app, "failures") == 0


def test_normalizing_twice_changes_nothing_more() -> None:
    lines = [
        "src/app.ts(3,5): error TS2307: Cannot find module 'dayjs' or its corresponding type declarations.",
        " ! [rejected]        main -> main (non-fast-forward)",
        "make: *** No rule to make target 'gen.h', needed by 'all'.  Stop.",
        '#9 1.204  ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with "frozen-lockfile"',
    ]
    for line in lines:
        assert is_in(normalized(line), flattened(f"- `{line}`"))


def _agent(data_dir: Path, root: Path, name: str, barrier: object) -> None:
    with Engram(settings=Settings(data_dir), directory=root) as app:
        agent = Agent(app, root, name)
        barrier.wait()  # type: ignore[attr-defined]
        for _ in range(5):
            agent.fails(MISSING.format(root="/x", line=1))
            agent.edits(f"{name}.py")
            agent.passes(RUN)


def test_two_agents_at_once_keep_one_fix_with_both_causes(here: Engram, root: Path, data_dir: Path) -> None:
    process = multiprocessing.get_context("spawn")
    barrier = process.Barrier(2)
    both = [process.Process(target=_agent, args=(data_dir, root, name, barrier)) for name in ("one", "two")]
    for each in both:
        each.start()
    for each in both:
        each.join(60)

    assert [each.exitcode for each in both] == [0, 0]
    [fix] = here.failures.fixes()
    assert {name for remedy in fix.remedies for name in remedy.files} == {"one.py", "two.py"}
    assert sum(remedy.times for remedy in fix.remedies) == 10
