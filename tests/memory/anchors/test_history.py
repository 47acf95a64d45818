"""Git's log, whatever files are called and configured, and branches that were squashed, rebased or thrown away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.git.program import Deadline
from engram_py.base.reasons import reason
from engram_py.memory.anchors.trace import (
    FileChange,
    Log,
    NoCommit,
    read_added,
    read_log,
    read_renames,
    text_removed_by,
)
from engram_py.memory.anchors.values import Anchor, Visibility
from engram_py.memory.anchors.worktree import mark_span
from engram_py.memory.observations.values import Saved
from tests.memory.anchors.repositories import AUTH, IN_HISTORY, Repo, lines, on_branch, remember, seen, states
from tests.support import Git, Opener

LINES = [f"line {number}" for number in range(30)]


@pytest.fixture
def empty_root(tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


@pytest.fixture
def bare(empty_root: Path, git: Git) -> Repo:
    """A repository without a commit."""
    return Repo(empty_root, git)


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


def test_a_file_that_any_commit_ever_had_was_added(bare: Repo) -> None:
    bare.git("config", "log.showRoot", "false")
    bare.git("config", "diff.renames", "copies")
    bare.commit("m", {'ü "q".py': LINES, "*.py": LINES, "renamed.py": LINES})
    bare.git("checkout", "-q", "-b", "side")
    bare.commit("m", {"brief.py": LINES})
    bare.git("rm", "-q", ".", "-r")
    bare.commit("m", {"deep/new.py": LINES})
    bare.git("checkout", "-q", "main")
    bare.commit("m", {"main.py": LINES})
    bare.git("-c", "user.name=x", "-c", "user.email=a@b", "merge", "-q", "--no-ff", "-m", "m", "side")
    had = ['ü "q".py', "*.py", "renamed.py", "brief.py", "deep/new.py", "main.py"]
    head = bare.git("rev-parse", "HEAD")
    found = read_added(bare.root, head, [*had, "other.py", "deep", ":(top)", "x.py"], Deadline(30))
    assert found is not None
    assert [name for name in had if name not in found] == []
    assert found.isdisjoint({"other.py", "deep", ":(top)", "x.py"})
    assert read_added(bare.root, "0" * 40, had, Deadline(30)) is None


@pytest.mark.parametrize(
    "name",
    [
        "a.py", "with blank.py", "ü/日本.py", 'quo"te.py', "back\\slash.py", "tab\there.py", "-dash.py", ":(top)x.py",
        "*.py",
    ],
)  # fmt: skip
def test_a_file_is_known_by_its_name_whatever_that_is(bare: Repo, name: str) -> None:
    bare.commit("m", {name: LINES, "other.py": LINES})
    bare.commit("m", {name: [*LINES[:10], "new", *LINES[11:]], "other.py": ["else"]})

    change = change_of(log_of(bare, name))

    assert (change.path, change.kind) == (name, "M")
    assert change.hunks == [
        ([line.encode() for line in LINES[7:14]], [line.encode() for line in [*LINES[7:10], "new", *LINES[11:14]]])
    ]


def test_lines_that_look_like_a_patch_are_lines(bare: Repo) -> None:
    tricky = ["-- a/x.py", "++ b/x.py", "@@ -1,2 +1,2 @@", "\\ No newline", ":100644 x", "\x01deadbeef", "diff --git"]
    bare.commit("m", {"a.py": tricky})
    bare.commit("m", {"a.py": ["new"]})
    log = log_of(bare, "a.py")
    assert change_of(log).hunks == [([line.encode() for line in tricky], [b"new"])]
    assert [len(one.changes) for one in log.commits] == [1, 1]


def test_a_users_configuration_changes_nothing(bare: Repo) -> None:
    bare.commit("m", {"a.py": [*LINES, ""]})
    bare.commit("m", {"a.py": ["new", *LINES[1:20], "new", *LINES[21:], ""]})
    before = log_of(bare, "a.py")
    for key, value in {
        "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.context": "0", "diff.external": "/bin/false",
        "diff.suppressBlankEmpty": "true", "log.showSignature": "true", "log.follow": "true", "color.ui": "always",
        "diff.relative": "true", "core.quotePath": "true", "diff.renames": "copies", "log.diffMerges": "off",
        "core.pager": "/bin/false", "diff.interHunkContext": "50", "diff.wsErrorHighlight": "all",
        "i18n.logOutputEncoding": "latin1", "format.pretty": "oneline", "diff.algorithm": "patience",
    }.items():  # fmt: skip
        bare.git("config", key, value)
    assert log_of(bare, "a.py") == before


@pytest.mark.parametrize("attribute", ["diff=upper", "-diff", "binary"])
def test_no_program_of_the_repository_is_run(bare: Repo, attribute: str, tmp_path: Path) -> None:
    bare.commit("m", {"a.py": LINES, ".gitattributes": [f"*.py {attribute}"]})
    bare.commit("m", {"a.py": ["new"]})
    for name in ("textconv", "command"):
        bare.git("config", f"diff.upper.{name}", f"touch {tmp_path}/ran; false")
    bare.git("config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
    log_of(bare, "a.py")
    read_renames(bare.root, [bare.git("rev-parse", "HEAD")], Deadline(30))
    assert not (tmp_path / "ran").exists()


def test_every_commit_is_listed_so_that_they_can_be_counted(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES})
    for number in range(5):
        bare.commit("m", {"other.py": [str(number)]})
    log = log_of(bare, "a.py")
    assert (len(log.commits), log.complete) == (6, True)
    assert [log.commits_since(one.id) for one in log.commits] == list(range(6))
    assert not log_of(bare, "a.py", most=3).complete


def test_an_authors_name_is_one_short_line(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES}, by="Bobby\x1b[31m " + "Tables" * 30)
    [first] = log_of(bare, "a.py").commits
    assert first.author.startswith("Bobby[31m Tables")
    assert len(first.author) <= 40


def test_a_binary_change_is_a_change(bare: Repo) -> None:
    (bare.root / "x.bin").write_bytes(b"\0one")
    bare.commit("m")
    (bare.root / "x.bin").write_bytes(b"\0two")
    bare.commit("m", {"a.py": ["x"]})
    change = log_of(bare, "x.bin").commits[0].changes[0]
    assert (change.binary, change.only_blanks) == (True, False)


def test_a_commit_with_nothing_but_blanks_is_told_from_others(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES})
    bare.commit("m", {"a.py": [f"{line}  " for line in LINES]})
    assert change_of(log_of(bare, "a.py")).only_blanks


def test_a_rename_is_told_by_the_commit_that_made_it(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES})
    bare.git("mv", "a.py", "b.py")
    renaming = bare.commit("m", {"b.py": [*LINES, "more"], "c.py": ["new"]})
    found = {(one.kind, one.old_path, one.path) for one in read_renames(bare.root, [renaming], Deadline(30))[renaming]}
    assert found == {("R", "a.py", "b.py"), ("A", "c.py", "c.py")}


def test_a_text_that_left_and_came_back_is_there(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES})
    bare.commit("m", {"a.py": LINES[:5]})
    bare.commit("m", {"a.py": LINES})
    text = anchor_of()
    assert text_removed_by(log_of(bare, "a.py", context=3), "a.py", text) is NoCommit.PRESENT


def test_a_log_that_was_cut_off_settles_nothing(bare: Repo) -> None:
    first = bare.commit("m", {"a.py": LINES})
    bare.commit("m", {"a.py": LINES[:5]})
    for number in range(5):
        bare.commit("m", {"b.py": [str(number)]})
    text = anchor_of(blob="0" * 40, since=first)
    assert text_removed_by(log_of(bare, "a.py", most=3), "a.py", text) is NoCommit.BEYOND_LOG
    assert text_removed_by(log_of(bare, "a.py", most=6), "a.py", text) == log_of(bare, "a.py").commits[5]


def test_of_a_renamed_file_a_log_that_does_not_reach_the_renaming_settles_nothing(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES})
    bare.commit("m", {"b.py": ["x"]})
    text = anchor_of()
    short, whole = log_of(bare, "a.py", most=1), log_of(bare, "a.py")
    assert text_removed_by(short, "a.py", text, was_here=False) is NoCommit.BEYOND_LOG
    assert text_removed_by(whole, "a.py", text, was_here=False) is NoCommit.PRESENT
    assert text_removed_by(whole, "b.py", text, was_here=False) is NoCommit.UNSEEN


def test_of_an_answer_that_is_too_long_the_commits_that_came_whole_are_used(bare: Repo) -> None:
    for number in range(14):
        bare.commit("m", {"a.py": [f"{number}: {'x' * 90} {line}" for line in range(4_000)]})
    log = log_of(bare, "a.py", context=0)
    known = len(log.commits)
    assert 0 < known < 14
    assert not log.complete
    sizes = [(len(before), len(after)) for one in log.commits for before, after in one.changes[0].hunks]
    assert sizes == [(4_000, 4_000)] * known


def test_an_unknown_head_is_no_answer(bare: Repo) -> None:
    bare.commit("m", {"a.py": LINES})
    assert read_log(bare.root, "ab" * 20, ["a.py"], context=3, most=10, deadline=Deadline(30)) is None
    assert read_renames(bare.root, ["ab" * 20], Deadline(30)) == {}


def on_spike(app: Engram, repo: Repo) -> Saved:
    """A memory of a new file on branch ``spike``; then back to ``main``."""
    repo.git("checkout", "-q", "-b", "spike")
    repo.commit("try a cache", {"spike_cache.py": lines("spike")})
    saved = remember(app, "The spike keeps sessions in LMDB", "spike_cache.py:3-6")
    repo.git("checkout", "-q", "main")
    return saved


@pytest.mark.parametrize("collected", [False, True])
def test_what_was_saved_on_a_branch_that_was_thrown_away_is_labelled_and_not_told_unasked(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, collected: bool
) -> None:
    saved = on_spike(here, repo)
    repo.git("branch", "-q", "-D", "spike")
    if collected:
        repo.collect()

    assert seen(here, saved) == Visibility("elsewhere", "spike", deleted=True)
    assert here.search("spike LMDB sessions").results[0].branch == "spike (deleted)"
    assert states(here, saved)[0].reason == reason("only_on_branch", branch="spike (deleted)")
    assert here.contexts.assemble(unasked=True).recent == ()

    monkeypatch.setattr("subprocess.Popen", None)
    assert seen(here, saved) == seen(open_memory(repo.root), saved) == Visibility("elsewhere", "spike", deleted=True)


def test_on_a_detached_head_a_deleted_branch_may_have_been_merged_later(here: Engram, repo: Repo) -> None:
    old = repo.git("rev-parse", "HEAD")
    saved = on_spike(here, repo)
    repo.squash("spike")
    repo.git("checkout", "-q", "--detach", old)
    assert seen(here, saved).state == "unknown"
    assert here.search("spike LMDB sessions").results[0].branch == ""
    assert [(one.state, one.reason) for one in states(here, saved)] == [("unknown", reason("not_in_history"))]


@pytest.mark.parametrize("since", ["deleted", "renamed before"])
def test_a_new_file_that_was_squashed_is_of_no_branch_whatever_became_of_it(
    here: Engram, repo: Repo, since: str
) -> None:
    saved = on_spike(here, repo)
    if since == "renamed before":
        repo.git("checkout", "-q", "spike")
        repo.rename("spike_cache.py", "cache.py")
        repo.git("checkout", "-q", "main")
    repo.squash("spike")
    if since == "deleted":
        repo.git("rm", "-q", "spike_cache.py")
        repo.commit("no cache after all")
    assert seen(here, saved) == Visibility("unknown", "spike", "branch_gone")


def test_a_git_that_fails_to_tell_of_a_file_is_not_asked_again_and_nothing_is_said(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = on_spike(here, repo)
    repo.git("branch", "-q", "-D", "spike")
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(
        "engram_py.memory.anchors.visibility.read_added", lambda root, head, paths, deadline: asked.append(paths)
    )
    for memory in (here, here, open_memory(repo.root)):
        assert seen(memory, saved) == Visibility("unknown", "spike", "branch_gone")
    assert asked == [["spike_cache.py"]]


def test_a_squash_merge_is_recognised_by_the_text_it_brought(here: Engram, repo: Repo) -> None:
    told = on_branch(here, repo, f"{AUTH}:10-20")
    repo.squash("topic", keep=True)
    assert seen(here, told) == IN_HISTORY
    repo.git("branch", "-q", "-D", "topic")
    assert seen(here, told) == IN_HISTORY
    repo.collect()
    assert seen(here, told) == IN_HISTORY


def test_a_rebased_branch_that_was_merged_is_recognised_by_its_text(here: Engram, repo: Repo) -> None:
    saved = on_branch(here, repo, f"{AUTH}:10-20")
    repo.commit("main goes on", {"other.py": ["x = 1"]})
    repo.git("rebase", "-q", "main", "topic")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_text_that_was_squashed_and_changed_since_in_one_of_its_files_is_still_known(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.write("one.py", lines("one"))
    repo.write("two.py", lines("two"))
    repo.commit("two files")
    saved = remember(here, "Two files", "one.py", "two.py")
    repo.git("checkout", "-q", "main")
    repo.squash("topic")
    repo.write("two.py", ["all = new"])
    assert seen(here, saved) == IN_HISTORY


@pytest.mark.parametrize("collected", [False, True])
def test_text_that_was_squashed_and_changed_since_is_of_no_branch_once_that_is_deleted(
    here: Engram, repo: Repo, collected: bool
) -> None:
    saved = on_branch(here, repo, f"{AUTH}:10-20")
    repo.squash("topic", keep=True)
    repo.commit("changed since", {AUTH: ["sixteen = 1" if "auth_16" in line else line for line in lines("auth")]})
    assert here.searches.search("branch topic commit").results[0].branch == "topic"

    repo.git("branch", "-q", "-D", "topic")
    if collected:
        repo.collect()

    assert seen(here, saved) == Visibility("unknown", "topic", "branch_gone")
    [hit] = here.searches.search("branch topic commit").results
    assert (hit.branch, hit.anchors[0].state) == ("", "changed")
    assert [row.id for row in here.contexts.assemble(unasked=True).recent] == [saved.id]


@pytest.mark.parametrize("files", [(f"{AUTH}:10-20",), ()], ids=["a-text", "no-file-to-tell-by"])
def test_a_deleted_branch_may_have_been_merged_whatever_its_text_is_now(
    here: Engram, repo: Repo, files: tuple[str, ...]
) -> None:
    saved = on_branch(here, repo, *files)
    repo.git("branch", "-q", "-D", "topic")
    assert seen(here, saved) == Visibility("unknown", "topic", "branch_gone")


def test_an_amended_commit_of_the_same_branch_is_not_another_branch(here: Engram, repo: Repo) -> None:
    saved = remember(here)
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    assert seen(here, saved) == Visibility("unknown", "main", "rewritten")


def test_a_commit_this_repository_never_had_is_no_part_of_its_history(here: Engram, repo: Repo) -> None:
    row = replace(here.get(remember(here).id).observation, git_commit="ab" * 20, git_branch="theirs")
    ours = replace(row, git_branch="main")
    assert here.anchors.visibility([row])[row.id] == Visibility("unknown", "theirs", "branch_gone")
    assert here.anchors.visibility([ours])[row.id] == Visibility("unknown", "main", "no_commit")


def test_a_commit_that_is_none_does_not_keep_the_others_from_being_judged(here: Engram, repo: Repo) -> None:
    fine = here.get(remember(here).id).observation
    repo.commit("go on")
    odd = [replace(fine, id=90 + at, git_commit=text) for at, text in enumerate(("--all", "HEAD", "x" * 9_000, "^a\n"))]
    assert {seen.state for seen in here.anchors.visibility(odd).values()} == {"unknown"}
    assert here.anchors.visibility([*odd, fine])[fine.id] == IN_HISTORY
