"""Reading git's log, whatever the files are called and hold, and whatever the user configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py.anchors.trace import FileChange, Log, NoCommit, read_added, read_log, read_renames, text_removed_by
from engram_py.anchors.values import Anchor
from engram_py.anchors.worktree import mark_span
from engram_py.git.program import Deadline
from tests.anchors.repositories import Repo
from tests.memory import Git

LINES = [f"line {number}" for number in range(30)]


@pytest.fixture
def root(tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def log_of(repo: Repo, *paths: str, context: int = 3, most: int = 100) -> Log:
    log = read_log(repo.root, repo.git("rev-parse", "HEAD"), paths, context=context, most=most, deadline=Deadline(30))
    assert log is not None
    return log


def anchor_of(*, blob: str | None = None, since: str | None = None) -> Anchor:
    """Lines 10 to 12."""
    mark = mark_span([line.encode() for line in LINES], 10, 12)
    return Anchor(1, 1, "a.py", 10, 12, "given", mark.digest, mark.probe, 1, 0, None, blob, since, None, "")


def change_of(log: Log, at: int = 0) -> FileChange:
    [change] = log.commits[at].changes
    return change


def test_a_file_that_any_commit_ever_had_was_added(repo: Repo) -> None:
    repo.git("config", "log.showRoot", "false")
    repo.git("config", "diff.renames", "copies")
    repo.commit("m", {'ü "q".py': LINES, "*.py": LINES, "renamed.py": LINES})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("m", {"brief.py": LINES})
    repo.git("rm", "-q", ".", "-r")
    repo.commit("m", {"deep/new.py": LINES})
    repo.git("checkout", "-q", "main")
    repo.commit("m", {"main.py": LINES})
    repo.git("-c", "user.name=x", "-c", "user.email=a@b", "merge", "-q", "--no-ff", "-m", "m", "side")
    had = ['ü "q".py', "*.py", "renamed.py", "brief.py", "deep/new.py", "main.py"]
    head = repo.git("rev-parse", "HEAD")
    found = read_added(repo.root, head, [*had, "other.py", "deep", ":(top)", "x.py"], Deadline(30))
    assert found is not None
    assert [name for name in had if name not in found] == []
    assert found.isdisjoint({"other.py", "deep", ":(top)", "x.py"})
    assert read_added(repo.root, "0" * 40, had, Deadline(30)) is None


@pytest.mark.parametrize(
    "name",
    [
        "a.py",
        "with blank.py",
        "ü/日本.py",
        'quo"te.py',
        "back\\slash.py",
        "tab\there.py",
        "-dash.py",
        ":(top)x.py",
        "*.py",
    ],
)
def test_a_file_is_known_by_its_name_whatever_that_is(repo: Repo, name: str) -> None:
    repo.commit("m", {name: LINES, "other.py": LINES})
    repo.commit("m", {name: [*LINES[:10], "new", *LINES[11:]], "other.py": ["else"]})

    change = change_of(log_of(repo, name))

    assert (change.path, change.kind) == (name, "M")
    assert change.hunks == [
        ([line.encode() for line in LINES[7:14]], [line.encode() for line in [*LINES[7:10], "new", *LINES[11:14]]])
    ]


def test_lines_that_look_like_a_patch_are_lines(repo: Repo) -> None:
    tricky = ["-- a/x.py", "++ b/x.py", "@@ -1,2 +1,2 @@", "\\ No newline", ":100644 x", "\x01deadbeef", "diff --git"]
    repo.commit("m", {"a.py": tricky})
    repo.commit("m", {"a.py": ["new"]})
    log = log_of(repo, "a.py")
    assert change_of(log).hunks == [([line.encode() for line in tricky], [b"new"])]
    assert [len(one.changes) for one in log.commits] == [1, 1]


def test_a_users_configuration_changes_nothing(repo: Repo) -> None:
    repo.commit("m", {"a.py": [*LINES, ""]})
    repo.commit("m", {"a.py": ["new", *LINES[1:20], "new", *LINES[21:], ""]})
    before = log_of(repo, "a.py")
    for key, value in {
        "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.context": "0", "diff.external": "/bin/false",
        "diff.suppressBlankEmpty": "true", "log.showSignature": "true", "log.follow": "true", "color.ui": "always",
        "diff.relative": "true", "core.quotePath": "true", "diff.renames": "copies", "log.diffMerges": "off",
        "core.pager": "/bin/false", "diff.interHunkContext": "50", "diff.wsErrorHighlight": "all",
        "i18n.logOutputEncoding": "latin1", "format.pretty": "oneline", "diff.algorithm": "patience",
    }.items():  # fmt: skip
        repo.git("config", key, value)
    assert log_of(repo, "a.py") == before


@pytest.mark.parametrize("attribute", ["diff=upper", "-diff", "binary"])
def test_no_program_of_the_repository_is_run(repo: Repo, attribute: str, tmp_path: Path) -> None:
    repo.commit("m", {"a.py": LINES, ".gitattributes": [f"*.py {attribute}"]})
    repo.commit("m", {"a.py": ["new"]})
    for name in ("textconv", "command"):
        repo.git("config", f"diff.upper.{name}", f"touch {tmp_path}/ran; false")
    repo.git("config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    log_of(repo, "a.py")
    read_renames(repo.root, [repo.git("rev-parse", "HEAD")], Deadline(30))
    assert not (tmp_path / "ran").exists()


def test_every_commit_is_listed_so_that_they_can_be_counted(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES})
    for number in range(5):
        repo.commit("m", {"other.py": [str(number)]})
    log = log_of(repo, "a.py")
    assert (len(log.commits), log.complete) == (6, True)
    assert [log.commits_since(one.id) for one in log.commits] == list(range(6))
    assert not log_of(repo, "a.py", most=3).complete


def test_an_authors_name_is_one_short_line(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES}, by="Bobby\x1b[31m " + "Tables" * 30)
    [first] = log_of(repo, "a.py").commits
    assert first.author.startswith("Bobby[31m Tables")
    assert len(first.author) <= 40


def test_a_binary_change_is_a_change(repo: Repo) -> None:
    (repo.root / "x.bin").write_bytes(b"\0one")
    repo.commit("m")
    (repo.root / "x.bin").write_bytes(b"\0two")
    repo.commit("m", {"a.py": ["x"]})
    change = log_of(repo, "x.bin").commits[0].changes[0]
    assert (change.binary, change.only_blanks) == (True, False)


def test_a_commit_with_nothing_but_blanks_is_told_from_others(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES})
    repo.commit("m", {"a.py": [f"{line}  " for line in LINES]})
    assert change_of(log_of(repo, "a.py")).only_blanks


def test_a_rename_is_told_by_the_commit_that_made_it(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES})
    repo.git("mv", "a.py", "b.py")
    renaming = repo.commit("m", {"b.py": [*LINES, "more"], "c.py": ["new"]})
    found = {(one.kind, one.old_path, one.path) for one in read_renames(repo.root, [renaming], Deadline(30))[renaming]}
    assert found == {("R", "a.py", "b.py"), ("A", "c.py", "c.py")}


def test_a_text_that_left_and_came_back_is_there(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES})
    repo.commit("m", {"a.py": LINES[:5]})
    repo.commit("m", {"a.py": LINES})
    text = anchor_of()
    assert text_removed_by(log_of(repo, "a.py", context=3), "a.py", text) is NoCommit.PRESENT


def test_a_log_that_was_cut_off_settles_nothing(repo: Repo) -> None:
    first = repo.commit("m", {"a.py": LINES})
    repo.commit("m", {"a.py": LINES[:5]})
    for number in range(5):
        repo.commit("m", {"b.py": [str(number)]})
    text = anchor_of(blob="0" * 40, since=first)
    assert text_removed_by(log_of(repo, "a.py", most=3), "a.py", text) is NoCommit.BEYOND_LOG
    assert text_removed_by(log_of(repo, "a.py", most=6), "a.py", text) == log_of(repo, "a.py").commits[5]


def test_of_a_renamed_file_a_log_that_does_not_reach_the_renaming_settles_nothing(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES})
    repo.commit("m", {"b.py": ["x"]})
    text = anchor_of()
    short, whole = log_of(repo, "a.py", most=1), log_of(repo, "a.py")
    assert text_removed_by(short, "a.py", text, was_here=False) is NoCommit.BEYOND_LOG
    assert text_removed_by(whole, "a.py", text, was_here=False) is NoCommit.PRESENT
    assert text_removed_by(whole, "b.py", text, was_here=False) is NoCommit.UNSEEN


def test_of_an_answer_that_is_too_long_the_commits_that_came_whole_are_used(repo: Repo) -> None:
    for number in range(14):
        repo.commit("m", {"a.py": [f"{number}: {'x' * 90} {line}" for line in range(4_000)]})
    log = log_of(repo, "a.py", context=0)
    known = len(log.commits)
    assert 0 < known < 14
    assert not log.complete
    sizes = [(len(before), len(after)) for one in log.commits for before, after in one.changes[0].hunks]
    assert sizes == [(4_000, 4_000)] * known


def test_an_unknown_head_is_no_answer(repo: Repo) -> None:
    repo.commit("m", {"a.py": LINES})
    assert read_log(repo.root, "ab" * 20, ["a.py"], context=3, most=10, deadline=Deadline(30)) is None
    assert read_renames(repo.root, ["ab" * 20], Deadline(30)) == {}
