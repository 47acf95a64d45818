"""Find small tasks in a repository's own history, fixes that changed a test, to be made again at the commit before; and
the values of an experiment over them.

A fix counts where the memory has a ``bugfix`` or ``fix`` of it, or where it came again: another fix or a revert touched
one of its files in the fortnight before. What that left is the task's lesson. A decision with a guard makes a task of
the last commit that went against it.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, get_args

from engram_py.base.dataclass import asdict, dataclass
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import find_repository
from engram_py.base.lazy import regex
from engram_py.base.reasons import Told
from engram_py.guidance.guards.diff import Changes, FileChange, found_in
from engram_py.guidance.guards.diff import history as changes_of_history
from engram_py.guidance.guards.values import Guard, from_json, to_json
from engram_py.memory.privacy.provenance import GIVEN, author_of, unchecked, waits

Arm = Literal["none", "placebo", "files", "engram"]
ARMS: tuple[Arm, ...] = get_args(Arm)
Ended = Literal["solved", "failed", "timeout"]

MOST_COMMITS = 2_000
_FORTNIGHT = 14 * 86_400
_GIT_SECONDS = 30.0
_OVER_FILES = ("path", "added", "removed")
_FORMAT = "%x1e%H%x1f%P%x1f%ct%x1f%s%x1f%b%x1f"
_FIXES = regex(
    r"(?i)^(?:[\w./()-]+!?:\s*)?(?:fix(?:es|ed)?|bug(?:fix)?|hotfix|repair|mend|revert)\b"
    r"|\b(?:bug|regression)\b|\bfix(?:es|ed)? #\d"
)
_TESTING = frozenset(("test", "tests", "__tests__", "spec", "specs", "testing"))
_TEST = regex(
    r"(?:^test_.+\.py|_test\.(?:py|go|rs|rb|exs)|[._](?:test|spec)\.[cm]?[jt]sx?|_spec\.rb|Tests?\.(?:java|kt|cs))$"
)
_SHA = regex(r"\b[0-9a-f]{7,40}\b")
# How the tests of a language are run where the user does not say it.
_PYTHON = "python" if shutil.which("python") else "python3"
CHECKS = {".py": f"{_PYTHON} -m pytest -q {{tests}}", ".go": "go test {folders}", ".rs": "cargo test"}

MEMORIES = f"""
select id, title, content, type, git_commit, {unchecked("observations")} as unchecked from observations
where type in ('bugfix', 'fix') and project = :project and deleted_at is null and lifecycle = 'active' and not {waits()}
order by updated_at desc, id desc limit 500
"""


class Row(Protocol):
    """A row of ``MEMORIES``."""

    def __getitem__(self, name: str, /) -> Any: ...


GUARDED = f"""
select id, title, content, type, guards from observations
where guards is not null and project = :project and deleted_at is null and lifecycle = 'active' and {GIVEN}
order by id
"""


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, its parent if it has one, and the files that it added or changed."""

    sha: str
    parent: str
    at: int
    subject: str
    body: str
    files: tuple[str, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(path for path in self.files if is_test(path))

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(path for path in self.files if not is_test(path))

    @property
    def fixes(self) -> bool:
        return bool(_FIXES.search(self.subject))


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the memory has to tell about a task; ``guards`` as the row of a decision has them. ``unchecked`` is the
    author of one that nobody trusts: no notes have it, and the run's memory has it as from elsewhere."""

    title: str
    content: str
    type: str = "bugfix"
    guards: str = ""
    unchecked: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """A commit to make again: from ``parent`` an agent is asked for what ``prompt`` says, and then ``check`` runs.

    ``tests`` are the files that the check takes from ``commit``; without a check something has to change that keeps the
    lesson's guard. ``why`` says what makes it a task.
    """

    id: str
    commit: str
    parent: str
    prompt: str
    tests: tuple[str, ...]
    check: tuple[str, ...]
    lesson: Lesson
    why: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The tasks of an experiment, and how many of its runs are done: what is in ``folder`` is not run again."""

    folder: str
    tasks: tuple[Task, ...]
    runs: int
    done: int
    timeout: int


@dataclass(frozen=True, slots=True)
class Run:
    """One task in one arm. ``code`` is the exit code of the agent, None where it was ended."""

    task: str
    arm: Arm
    ended: Ended
    seconds: float
    code: int | None


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm: ``helped`` are tasks that it solved and that ``none`` did not, ``harmed`` the other way round.

    ``chance`` is how likely such a difference is where the arm makes none (exact sign test, two-sided).
    """

    arm: Arm
    runs: int
    solved: int
    helped: int
    harmed: int
    timeouts: int
    seconds: float
    chance: float


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of an experiment. ``tasks`` are those that every arm ran: the rest compares nothing."""

    folder: str
    tasks: int
    arms: tuple[ArmResult, ...]
    runs: tuple[Run, ...]
    warnings: tuple[Told, ...] = ()


def is_test(path: str) -> bool:
    """Return whether a file belongs to the tests, helpers and data of theirs included."""
    file = PurePosixPath(path)
    return not _TESTING.isdisjoint(file.parts[:-1]) or bool(_TEST.search(file.name))


def history(root: Path) -> list[Commit]:
    """Return the last 2,000 commits of HEAD that are no merges, the newest first; none where git does not answer."""
    answer = ask_git(
        root, "log", "--no-merges", f"-n{MOST_COMMITS}", "--name-status", "--no-renames", f"--format={_FORMAT}",
        deadline=Deadline(_GIT_SECONDS), limit=64 << 20,
    )  # fmt: skip
    text = answer[0].decode(errors="replace") if answer else ""
    return [_commit(one) for one in text.split("\x1e")[1:]]


def _commit(text: str) -> Commit:
    sha, parent, at, subject, body, files = text.split("\x1f", 5)
    changed = (line.partition("\t") for line in files.splitlines())
    return Commit(
        sha, parent, int(at), subject, body.strip(), tuple(path for kind, _, path in changed if kind in "AM" and path)
    )


def candidates(commits: Sequence[Commit], memories: Iterable[Row], check: str | None) -> Iterator[Task]:
    """Yield the fixes of a history that make tasks, those that a memory tells of first, each commit once."""
    seen: set[str] = set()
    for commit, lesson, why in (*_remembered(commits, memories), *_repeated(commits)):
        command = _check(commit, check)
        if commit.sha not in seen and commit.parent and commit.tests and commit.sources and command:
            seen.add(commit.sha)
            yield _task(commit, lesson, why, check=command)


def against(root: Path, commits: Sequence[Commit], decisions: Iterable[Row]) -> Iterator[Task]:
    """Yield for each guard over files, of any branch, the latest of the last 200 commits that goes against it."""
    guards = [(row, guard) for row in decisions for guard in from_json(row["guards"])]
    guards = [(row, guard) for row, guard in guards if guard.kind in _OVER_FILES and not guard.branch]
    repository = find_repository(root) if guards else None
    changes = list(changes_of_history(repository, texts=True, seconds=_GIT_SECONDS)) if repository else []
    for row, guard in guards:
        facts = [(row["id"], row["title"], row["type"], guard)]
        broken = (one for one, files in zip(commits, changes, strict=False) if broken_by(facts, files))
        commit = next((one for one in broken if one.parent), None)
        if commit:
            lesson = Lesson(row["title"], row["content"], row["type"], to_json((guard,)))
            yield _task(commit, lesson, f"decision #{row['id']}", name=f"{commit.sha[:12]}-{row['id']}")


def broken_by(guards: Sequence[tuple[int, str, str, Guard]], files: Sequence[FileChange]) -> bool:
    """Return whether changed files break one of the guards."""
    return bool(found_in(guards, Changes(tuple(files), None, committed=True)))


def _task(commit: Commit, lesson: Lesson, why: str, *, check: tuple[str, ...] = (), name: str = "") -> Task:
    prompt = f"{commit.subject}\n\nThe repository is in your working directory. Change its code until it does this."
    tests = commit.tests if check else ()
    return Task(name or commit.sha[:12], commit.sha, commit.parent, prompt, tests, check, lesson, why)


def _remembered(commits: Sequence[Commit], memories: Iterable[Row]) -> Iterator[tuple[Commit, Lesson, str]]:
    """Yield the commits that memories name, or were saved at or before; of these the one whose files a memory names."""
    places = {commit.sha: place for place, commit in enumerate(commits)}
    for row in memories:
        content = f"{row['title']} {row['content']}"
        named = [one for sha in _SHA.findall(content) for one in commits if one.sha.startswith(sha)]
        place = places.get(row["git_commit"] or "")
        near = [] if place is None else [commits[place], *commits[max(0, place - 1) : place]]
        near.sort(key=lambda one: not any(PurePosixPath(path).name in content for path in one.sources))
        fixing = next((one for one in (*named, *near) if one.tests and one.sources), None)
        if fixing:
            author = author_of(row["unchecked"]) if row["unchecked"] else ""
            lesson = Lesson(row["title"], row["content"], row["type"], unchecked=author)
            yield fixing, lesson, f"memory #{row['id']}"


def _repeated(commits: Sequence[Commit]) -> Iterator[tuple[Commit, Lesson, str]]:
    """Yield the fixes of files that another fix or a revert had touched in the fortnight before."""
    fixes = [commit for commit in commits if commit.fixes]
    for place, commit in enumerate(fixes):
        for earlier in fixes[place + 1 :]:
            if commit.at - earlier.at > _FORTNIGHT:
                break
            if not commit.sources.isdisjoint(earlier.sources):
                files = ", ".join(sorted(earlier.sources)[:5])
                lesson = Lesson(
                    earlier.subject, f"{earlier.body}\n\nCommit {earlier.sha[:12]} changed {files}.".strip()
                )
                what = "reverted" if "revert" in earlier.subject.lower() else "fixed again"
                yield commit, lesson, f"{what} after {earlier.sha[:12]}"
                break


def _check(commit: Commit, check: str | None) -> tuple[str, ...]:
    """Return the command that runs a commit's tests; empty where none is known."""
    tests = [path for path in commit.tests if _TEST.search(PurePosixPath(path).name)]
    command = check or next((CHECKS[one] for path in tests if (one := PurePosixPath(path).suffix) in CHECKS), "")
    folders = list(dict.fromkeys(f"./{PurePosixPath(path).parent}" for path in tests))
    return (
        tuple(
            word for part in shlex.split(command) for word in {"{tests}": tests, "{folders}": folders}.get(part, [part])
        )
        if tests
        else ()
    )


def dump(tasks: Sequence[Task]) -> str:
    return json.dumps([asdict(task) for task in tasks], indent=1)


def load(text: str) -> tuple[Task, ...]:
    """Return the tasks of a file that ``dump`` wrote. Raises ValueError, KeyError and TypeError for another."""
    return tuple(
        Task(**one | {"tests": tuple(one["tests"]), "check": tuple(one["check"]), "lesson": Lesson(**one["lesson"])})
        for one in json.loads(text)
    )
