"""The experiment that a user can run: an agent at small tasks of the user's own repository, without a memory, with a
placebo of equal length, with the memory as a file, and with engram.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path

from engram_py.base.dataclass import asdict
from engram_py.base.errors import InvalidArgumentError, InvalidInputError
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import find_repository
from engram_py.base.processes import kill_with_children
from engram_py.base.reasons import amount, reason
from engram_py.guidance.guards.diff import changes_of
from engram_py.guidance.guards.values import from_json
from engram_py.memory.projects.projects import Core
from engram_py.upkeep.evaluation.tasks import (
    ARMS,
    GUARDED,
    MEMORIES,
    Arm,
    ArmResult,
    Lesson,
    Plan,
    Result,
    Run,
    Task,
    against,
    broken_by,
    candidates,
    dump,
    history,
    load,
)

# Fills the memory in a folder with lessons, as the project of a working directory.
Fill = Callable[[Path, Path, Sequence[Lesson]], None]
Progress = Callable[[int, int], None]

NOTES = "NOTES-OF-EARLIER-SESSIONS.md"
_NOTED = f"\n\nNotes of earlier sessions are in {NOTES}."
_MOST_CANDIDATES = 40  # each is checked twice, without and with its fix
_CHECK_SECONDS = 300.0
_PLANNING_SECONDS = 900.0
_GIT_SECONDS = 120.0
_LOG_BYTES = 5 << 20
# A line of general advice, true anywhere and of use nowhere.
_PLACEBO = """\
Read the code before changing it, and keep each change small. Prefer clear names to short ones. Write down why a choice
was made. Run the tests after every step. Leave the files that have nothing to do with a task as they are.
"""


class Experiments:
    """Plans experiments over a project's own fixes, and runs them. All stays in a folder of the data directory."""

    def __init__(self, core: Core, fill: Fill) -> None:
        self._store, self._projects, self._fill = core.store, core.projects, fill
        self._home = core.settings.data_dir / "experiments"

    def plan(
        self, agent: str, *, check: str | None = None, tasks: int = 5, timeout: int = 600, again: bool = False,
        progress: Progress | None = None,
    ) -> Plan:  # fmt: skip
        """Return the tasks of the repository here, kept from an earlier run with the same arguments unless ``again``.

        The check of each fix was seen to fail before the fix and to pass after it.

        Raises InvalidArgumentError: there is no repository here. InvalidInputError (no_tasks).
        """
        root = self._root()
        place = self._projects.for_read()
        told = json.dumps([str(root), agent, check, tasks, timeout])
        folder = self._home / hashlib.sha256(told.encode()).hexdigest()[:12]
        if again:
            shutil.rmtree(folder, ignore_errors=True)
        found = self._kept(folder)
        if not found:
            commits = history(root)
            memories = self._store.rows(MEMORIES, project=place.project)
            decisions = self._store.rows(GUARDED, project=place.project)
            fixes, guarded = candidates(commits, memories, check), against(root, commits, decisions)
            possible = [one for pair in zip_longest(fixes, guarded) for one in pair if one]
            found = tuple(_sound(root, folder, possible[:_MOST_CANDIDATES], tasks, progress))
            if not found:
                seen, tried = amount(len(commits), "commit"), amount(len(possible), "candidate fix")
                raise InvalidInputError(
                    f"no usable task in {seen}: of {tried} none has a test "
                    "that fails before the fix and passes after it",
                    hint="say how tests run here: `engram ab --dry-run --check 'npm test -- {tests}'`",
                    code="no_tasks",
                )
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (folder / "tasks.json").write_text(dump(found), encoding="utf-8")
        done = {(run.task, run.arm) for run in _runs(folder)}
        return Plan(str(folder), found, len(found) * len(ARMS), len(done), timeout)

    def _root(self) -> Path:
        repository = self._projects.settings_here().repository
        if repository is None:
            raise InvalidArgumentError(
                "directory", said=f"{Path.cwd()} is in no git repository", step="run this in one that has commits"
            )
        return repository.root

    def _kept(self, folder: Path) -> tuple[Task, ...]:
        with suppress(OSError, ValueError, KeyError, TypeError):
            return load((folder / "tasks.json").read_text(encoding="utf-8"))
        return ()

    def run(self, plan: Plan, agent: str, *, progress: Progress | None = None) -> Result:
        """Run what is left of a plan, and compare the arms. Each run is kept at once: it can be stopped and goes on.

        Raises InvalidArgumentError: the agent's program does not start.
        """
        root, folder = self._root(), Path(plan.folder)
        done = {(run.task, run.arm) for run in _runs(folder)}
        lessons = [task.lesson for task in plan.tasks]
        for number, (task, arm) in enumerate(_order(plan.tasks)):
            if progress:
                progress(number, plan.runs)
            if (task.id, arm) not in done:
                with _worktree(root, folder / "work", task.parent) as work:
                    run = self._run(folder, work, task, arm, lessons, agent, plan.timeout)
                with (folder / "runs.jsonl").open("a", encoding="utf-8") as file:
                    file.write(f"\n{json.dumps(asdict(run))}")  # apart from a line that was cut off
        return result(plan)

    def _run(
        self, folder: Path, work: Path, task: Task, arm: Arm, lessons: Sequence[Lesson], agent: str, timeout: int
    ) -> Run:
        memory, prompt = folder / "memory", task.prompt
        shutil.rmtree(memory, ignore_errors=True)
        memory.mkdir(mode=0o700)
        if arm == "engram":
            self._fill(memory, work, lessons)
        elif arm != "none":
            text = "\n".join(f"## {one.title}\n\n{one.content}\n" for one in lessons if not one.unchecked)
            (work / NOTES).write_text(text if arm == "files" else placebo(text), encoding="utf-8")
            prompt += _NOTED
        begun = time.monotonic()
        log = folder / f"{task.id}-{arm}.log"
        code = _ended(_words(agent, prompt), work, _environment(memory, arm), timeout, log, given=_typed(agent, prompt))
        seconds = round(time.monotonic() - begun, 1)
        solved = code is not None and _passes(work, task)
        return Run(task.id, arm, "timeout" if code is None else "solved" if solved else "failed", seconds, code)


# --- the parts of a run ---------------------------------------------------------------------------------------


def placebo(text: str) -> str:
    """Return as many bytes of advice that says nothing of the task."""
    size = len(text.encode())
    return (_PLACEBO * (size // len(_PLACEBO) + 1))[:size]


def _order(tasks: Sequence[Task]) -> Iterator[tuple[Task, Arm]]:
    """Yield each task in each arm; which arm is first goes round, so that none has the warm caches."""
    for number, task in enumerate(tasks):
        for turn in range(len(ARMS)):
            yield task, ARMS[(number + turn) % len(ARMS)]


def _words(agent: str, prompt: str) -> list[str]:
    return [word.replace("{prompt}", prompt) for word in shlex.split(agent)]


def _typed(agent: str, prompt: str) -> str:
    """Return the standard input of an agent: the prompt where its command does not say where that stands."""
    return "" if "{prompt}" in agent else prompt


def _environment(memory: Path, arm: Arm) -> Mapping[str, str]:
    """Return the variables of an agent's process: its hooks and server use the memory of the experiment alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "GIT_"))}
    silent = {} if arm == "engram" else {"ENGRAM_ENABLED": "off"}
    return kept | {"ENGRAM_DATA_DIR": str(memory), "ENGRAM_DOCUMENTS": "off", "ENGRAM_DISTILL": "off"} | silent


def _ended(
    words: Sequence[str],
    work: Path,
    environment: Mapping[str, str],
    seconds: float,
    log: Path | None,
    *,
    given: str = "",
) -> int | None:
    """Return the exit code of a program, None where it and what it started had to be ended."""
    with (log or Path(os.devnull)).open("wb") as out:
        try:
            process = subprocess.Popen(
                words, cwd=work, env=dict(environment), stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        except OSError as exc:
            said = f"cannot start {words[0]!r} ({exc.strerror})"
            raise InvalidArgumentError("command", said=said, step="check --agent-command and --check") from exc
        try:
            process.communicate(given.encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            kill_with_children(process)
            if log is not None and out.tell() > _LOG_BYTES:
                out.truncate(_LOG_BYTES)
        return process.returncode


@contextmanager
def _worktree(root: Path, path: Path, commit: str) -> Iterator[Path]:
    """A checkout of a commit, which is gone afterwards. No hook of the repository runs."""
    _remove(root, path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _git(root, "worktree", "add", "--detach", "--force", str(path), commit) is None:
        message = f"git makes no worktree of {commit[:12]}"
        raise InvalidInputError(message, hint="look at `git worktree list`", code="invalid_input")
    try:
        yield path
    finally:
        _remove(root, path)


def _remove(root: Path, path: Path) -> None:
    if path.exists():
        _git(root, "worktree", "remove", "--force", "--force", str(path))
        shutil.rmtree(path, ignore_errors=True)
        _git(root, "worktree", "prune")


def _git(root: Path, *arguments: str) -> tuple[bytes, bool] | None:
    return ask_git(root, "-c", f"core.hooksPath={os.devnull}", *arguments, deadline=Deadline(_GIT_SECONDS))


def _passes(work: Path, task: Task) -> bool:
    """Return whether the check passes, with the tests as the fix has them, whatever the agent made of them."""
    if not task.check:
        return _keeps(work, task)
    if _git(work, "checkout", "--force", task.commit, "--", *task.tests) is None:
        return False
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "GIT_"))}
    return _ended(task.check, work, environment, _CHECK_SECONDS, None) == 0


def _keeps(work: Path, task: Task) -> bool:
    """Return whether anything changed, committed or not, and nothing of it breaks the lesson's guard."""
    (work / NOTES).unlink(missing_ok=True)
    if _git(work, "reset", "--soft", task.parent) is None or _git(work, "add", "--all") is None:
        return False
    files = changes_of((), find_repository(work), work, staged=True).files
    guards = [(0, task.lesson.title, task.lesson.type, one) for one in from_json(task.lesson.guards)]
    return bool(files) and not broken_by(guards, files)


def _sound(root: Path, folder: Path, possible: Sequence[Task], most: int, progress: Progress | None) -> Iterator[Task]:
    """Yield the first tasks whose check fails before the fix and passes after it."""
    found, until = 0, time.monotonic() + _PLANNING_SECONDS
    for number, task in enumerate(possible):
        if progress:
            progress(number, len(possible))
        if not task.check or _tells(root, folder, task):
            yield task
            found += 1
        if found >= most or time.monotonic() > until:
            return


def _tells(root: Path, folder: Path, task: Task) -> bool:
    with _worktree(root, folder / "work", task.parent) as work:
        fails = not _passes(work, task)
        fixed = fails and _git(work, "checkout", "--force", "--detach", task.commit) is not None
        return fixed and _passes(work, task)


# --- results --------------------------------------------------------------------------------------------------


def _runs(folder: Path) -> list[Run]:
    """Return the runs that are done; a line that was cut off is run again."""
    found = []
    with suppress(OSError):
        for line in (folder / "runs.jsonl").read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, TypeError):
                found.append(Run(**json.loads(line)))
    return found


def result(plan: Plan) -> Result:
    """Compare the arms over the tasks that each of them ran."""
    runs = _runs(Path(plan.folder))
    of = {(run.task, run.arm): run for run in runs}
    whole = [task.id for task in plan.tasks if all((task.id, arm) in of for arm in ARMS)]
    plain = {task: of[task, "none"].ended == "solved" for task in whole}
    arms = tuple(_arm(arm, [of[task, arm] for task in whole], plain) for arm in ARMS)
    wrong = sum(bool(run.code) for run in runs)
    notes = (reason("agent_ended_with_error", runs=wrong, folder=plan.folder),) if wrong else ()
    return Result(plan.folder, len(whole), arms, tuple(runs), notes)


def _arm(arm: Arm, runs: Sequence[Run], plain: Mapping[str, bool]) -> ArmResult:
    solved = {run.task for run in runs if run.ended == "solved"}
    helped = sum(not plain[task] for task in solved)
    harmed = sum(plain[run.task] for run in runs if run.task not in solved)
    return ArmResult(
        arm=arm,
        runs=len(runs),
        solved=len(solved),
        helped=helped,
        harmed=harmed,
        timeouts=sum(run.ended == "timeout" for run in runs),
        seconds=round(sum(run.seconds for run in runs) / max(1, len(runs)), 1),
        chance=sign_test(helped, harmed),
    )


def sign_test(helped: int, harmed: int) -> float:
    """Return how likely it is that a fair coin falls at least so unevenly, either way."""
    count, less = helped + harmed, min(helped, harmed)
    tail: float = sum(math.comb(count, number) for number in range(less + 1)) / 2**count
    return round(min(1.0, 2.0 * tail), 4)
