"""Memories that are asked for by a file: by its name, by where their text is now, and as git alone would find it."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.git.program import Deadline
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.anchors.trace import Log, read_log
from engram_py.memory.anchors.worktree import (
    MAX_FILE,
    Content,
    Unread,
    digest_of,
    is_relative,
    mark_span,
    read_file,
    slashed,
)
from engram_py.memory.anchors.worktree import _like as like
from engram_py.memory.observations import table
from engram_py.memory.observations.values import AnchorState, Observation, Saved
from tests.memory.anchors.git_oracle import Oracle, Span
from tests.memory.anchors.repositories import AUTH, Repo, about, lines, state, write
from tests.memory.anchors.scripted_history import History
from tests.support import Opener


def repeat(app: Engram, saved: Saved, changes: Iterable[dict[str, Any]]) -> None:
    """Store a memory once more for each of ``changes`` to its anchor."""
    [row] = app.store.rows("select * from observations where id = :id", id=saved.id)
    own = app.store.rows("select * from anchors where observation_id = :id", id=saved.id)
    with app.store.transaction():
        for number, changed in enumerate(changes):
            facts = {"id": None, "sync_id": f"obs-{saved.id:08x}{number:08x}", "content_hash": f"{saved.id}.{number}"}
            copy = app.store.insert("observations", {**dict(row), **facts})
            app.store.insert("anchors", {**dict(own[0]), **changed, "id": None, "observation_id": copy})


def four_lines(start: int) -> dict[str, Any]:
    mark = mark_span([line.encode() for line in lines("auth", 900)], start, start + 3)
    return {"start_line": start, "end_line": start + 3, "digest": mark.digest, "probe": mark.probe}


def sizes(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *places: str) -> list[int]:
    """How long the first argument of each call is that is made from there on."""
    counted: list[int] = []

    def counting(first: Sequence[Any], *others: Any) -> Any:
        counted.append(len(first))
        return function(first, *others)

    for place in places:
        monkeypatch.setattr(place, counting, raising=False)
    return counted


def found(app: Engram, path: str) -> list[int]:
    return [hit.id for hit in app.search(f"file:{path}").results]


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
@pytest.mark.parametrize("step", ["staged", "committed", "committed twice", "committed and changed"])
def test_a_file_that_got_another_name_is_known_and_asked_for_by_it(
    here: Engram, repo: Repo, name: str, step: str
) -> None:
    saved = about(here, name)
    about(here, "src/login.py", title="Another")
    (repo.root / "lib").mkdir()
    if step == "committed twice":
        repo.rename(AUTH, "src/identity.py")
        repo.commit("change", {"src/identity.py": [*lines("auth"), "# the end"]})
        repo.write("src/identity.py", lines("auth"))
        repo.git("add", "-A")
    repo.git("mv", "src/identity.py" if step == "committed twice" else AUTH, "lib/sub_a.py")
    if step == "committed and changed":
        repo.write("lib/sub_a.py", ["import os", *lines("auth")])
    if step != "staged":
        repo.commit("rename")

    now, changed = state(here, saved), step == "committed and changed"

    assert (now.state, now.now_path) == ("changed" if changed and name == AUTH else "moved", "lib/sub_a.py")
    assert now.now_start == (None if name == AUTH else 11 if changed else 10)
    for path in ("lib/sub_a.py", "sub_a.py", str(repo.root / "lib/sub_a.py"), AUTH):
        assert found(here, path) == [saved.id]
    assert found(here, "src/identity.py") == found(here, "src/sub_a.py") == []
    assert here.anchors.of_file("sub_a.py", projects=("gadgets",)) == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_function_that_went_to_another_file_is_asked_for_there(here: Engram, repo: Repo, committed: bool) -> None:
    saved = about(here, f"{AUTH}:10-20")
    stays = about(here, f"{AUTH}:30-35", title="What stays")
    repo.write(AUTH, lines("auth")[:9] + lines("auth")[20:])
    repo.write("src/tokens.py", ["import os", *lines("auth")[9:20]])
    if committed:
        repo.commit("extract a module")
        repo.commit("go on there", {"src/tokens.py": ["import os", "import sys", *lines("auth")[9:20]]})

    now = state(here, saved)
    assert (now.state, now.now_path, now.now_start) == ("moved", "src/tokens.py", 3 if committed else 2)
    assert found(here, "src/tokens.py") == found(here, "tokens.py") == [saved.id]
    assert found(here, AUTH) == [stays.id, saved.id]


def test_of_thousands_of_memories_of_a_file_that_moved_a_few_are_compared(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("a long file", {AUTH: lines("auth", 900)})
    first = about(here, f"{AUTH}:1-4")
    repeat(here, first, [four_lines(start) for start in range(2, 892)] * 2)
    repo.git("mv", AUTH, "src/identity.py")
    repo.commit("rename and change", {"src/identity.py": ["import os", *lines("auth", 900)]})
    scans = sizes(monkeypatch, like, "engram_py.memory.anchors.worktree._like")
    here.anchors.of_file("src/identity.py")  # git is asked
    assert sum(scans) < 900 * 20
    hashed = sizes(
        monkeypatch,
        digest_of,
        *(f"engram_py.memory.anchors.{module}.digest_of" for module in ("worktree", "moved_files")),
    )
    assert len(here.anchors.of_file("src/identity.py")) == 100
    assert sum(hashed) < 900 + 100 * 20


def test_a_text_that_only_looks_like_many_others_is_hashed_once(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = about(here, f"{AUTH}:10-20")
    login = {"path": "src/login.py", "name": "login.py"}
    repeat(here, first, (login | {"digest": f"{number:032x}"} for number in range(300)))
    repo.rename(AUTH, "src/identity.py")
    hashed = sizes(monkeypatch, digest_of, "engram_py.memory.anchors.moved_files.digest_of")
    assert here.anchors.of_file("src/identity.py") == [first.id]
    assert hashed == [11]


@pytest.mark.parametrize("name", ["lib/auth.py", "lib/identity.py"])
def test_another_project_does_not_stand_between_a_file_and_its_memories(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    saved = about(here, AUTH)
    other = about(here, "src/login.py:10-20", title="A text that moved")
    (repo.root / "lib").mkdir()
    repo.git("mv", AUTH, name)
    repo.rename("src/login.py", "lib/access.py")
    repo.commit("rewrite", {name: ["all = new"]})
    repeat(here, saved, ({"path": f"part{number}/auth.py", "digest": "ab" * 16} for number in range(60)))
    with here.store.transaction():
        here.store.execute("update observations set project = 'gadgets' where id > :id", id=other.id)
    monkeypatch.setattr("engram_py.memory.anchors.moved_files._ANCHORS_READ", 20)
    monkeypatch.setattr("engram_py.memory.anchors.moved_files._ANCHORS_COMPARED", 50)
    assert here.anchors.of_file(name) == [saved.id]
    assert here.anchors.of_file("lib/access.py") == [other.id]


@pytest.mark.parametrize("step", ["staged", "committed", "committed and rewritten"])
def test_a_folder_that_got_another_name_is_asked_for_by_it(here: Engram, repo: Repo, step: str) -> None:
    repo.write("deploy/k8s/base/ingest.yaml", lines("ingest"))
    repo.write("deploy/k8s/web.yaml", lines("web"))
    repo.commit("a folder")
    nested = about(here, "deploy/k8s/base/ingest.yaml:3-8")
    saved = about(here, "deploy/k8s/web.yaml", title="Another")
    about(here, AUTH, title="Not of it")
    repo.git("mv", "deploy/k8s", "deploy/kubernetes")
    if step != "staged":
        repo.rename("deploy/kubernetes/web.yaml", "deploy/kubernetes/site.yaml")
    if step == "committed and rewritten":
        repo.commit("rewrite", {"deploy/kubernetes/base/ingest.yaml": ["all = new"]})
    assert (
        sorted(found(here, "deploy/kubernetes/")) == sorted(found(here, "deploy/kubernetes")) == [nested.id, saved.id]
    )
    assert found(here, "deploy/kubernetes/base/") == [nested.id]
    assert sorted(found(here, "deploy/k8s/")) == [nested.id, saved.id]
    assert here.anchors.of_file("deploy/helm/") == here.anchors.of_file("lib/") == []


def test_where_no_file_moved_or_there_is_none_of_the_name_nothing_is_compared(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, AUTH)
    monkeypatch.setattr("engram_py.memory.anchors.states.local_states", lambda *_: pytest.fail("compared"))
    assert here.anchors.of_file(AUTH) == [saved.id]
    assert here.anchors.of_file("lib/auth.py") == []
    monkeypatch.setattr(Anchors, "_states", lambda *_, **__: pytest.fail("compared"))
    repo.rename(AUTH, "src/identity.py")
    assert here.anchors.of_file("src/other.py") == []


def test_a_file_that_was_renamed_and_changed_throughout_is_asked_for_by_its_new_name(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, saved: Saved
) -> None:
    repo.rename(AUTH, "src/identity.py")
    repo.commit("rewrite", {"src/identity.py": ["all = new"]})
    assert here.anchors.of_file("identity.py", deadline=Deadline(0)) == []  # nobody asked git yet
    assert here.anchors.of_file("identity.py") == [saved.id]
    monkeypatch.setattr("subprocess.Popen", None)
    assert open_memory(repo.root).anchors.of_file("identity.py") == [saved.id]


def test_a_copy_in_another_file_is_not_where_a_text_moved(here: Engram, root: Path) -> None:
    about(here, f"{AUTH}:10-20", AUTH)
    write(root, "src/copy.py", lines("auth"))
    assert here.anchors.of_file("src/copy.py") == []


def test_of_many_files_that_are_gone_a_few_are_followed(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        repo.write(f"old/part{number}.py", lines(f"part{number}", 5))
    repo.commit("many")
    for number in range(100):
        about(here, f"old/part{number}.py", title=f"Part {number}")
    moved = about(here, AUTH)
    for number in range(100):
        (repo.root / f"old/part{number}.py").unlink()
    repo.git("mv", AUTH, "src/identity.py")
    repo.commit("clear out")
    paths: list[int] = []

    def counted(root: Path, head: str, names: Sequence[str], **more: Any) -> Log | None:
        paths.append(len(names))
        return read_log(root, head, names, **more)

    monkeypatch.setattr("engram_py.memory.anchors.trace.read_log", counted)
    assert here.anchors.of_file("identity.py") == [moved.id]
    assert 0 < sum(paths) <= 65


# --- found by file -----------------------------------------------------------------------------------------------


def test_memories_of_a_file_are_found_by_its_path_its_name_and_its_folder(here: Engram, root: Path) -> None:
    write(root, "lib/auth.py", lines("lib"))
    write(root, "lib/oauth.py", lines("oauth"))
    first, second, third = (about(here, name, title=name) for name in (AUTH, "lib/auth.py:3", "lib/oauth.py"))

    def found(path: str) -> list[int]:
        return here.anchors.of_file(path)

    assert found(AUTH) == [first.id]
    assert found("auth.py") == [second.id, first.id]
    assert found("b/auth.py") == []
    assert found(str(root / "lib" / "auth.py")) == found("./lib/auth.py") == found("lib\\auth.py") == [second.id]
    assert found("lib/") == [third.id, second.id]
    assert found("lib") == found("") == found("/etc/passwd") == found("%") == found("_uth.py") == []
    assert here.anchors.of_file("auth.py", limit=1) == [second.id]
    assert here.anchors.of_file("auth.py", projects=("gadgets",)) == []
    write(root, "auth.py", lines("top"))
    exact = about(here, "auth.py", title="Top")
    assert found("auth.py")[0] == exact.id
    here.observations.delete(first.id)
    assert found(AUTH) == []


UNHURRIED = 600.0  # seconds for git: what is asked is what it says, not how much of that before a search gives it up
RECORDED_AT = 20  # commits of the history at which memories are saved


def checkout(root: Path, commit: str) -> None:
    subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=root, check=True, capture_output=True)


def some_span(random: Random, commit: str, tree: dict[str, tuple[str, ...]]) -> Span:
    """A file, one time in six, or lines of it that do not stand in every file."""
    path = random.choice(sorted(tree))
    if random.random() < 1 / 6:
        return Span(commit, path, None, None)
    lines = tree[path]
    while True:
        start = random.randint(1, len(lines))
        end = min(len(lines), start + random.choice((0, 0, 2, 5, 11)))
        if any("compute" in line or "def" in line for line in lines[start - 1 : end]):
            return Span(commit, path, start, end)


def remember(app: Engram, root: Path, history: History, commits: list[str], spans: int) -> dict[int, Span]:
    """Memories of ``spans`` places, saved at commits of the first three quarters of the history."""
    random = Random(history.seed)
    made: dict[int, Span] = {}
    for place in sorted(random.sample(range(len(commits) * 3 // 4), RECORDED_AT)):
        checkout(root, commits[place])
        for _ in range(spans // RECORDED_AT):
            span = some_span(random, commits[place], history.commits[place].tree)
            name = span.path if span.start is None else f"{span.path}:{span.start}-{span.end}"
            saved = app.save(Draft(f"Memory {len(made)}", f"It is about {name}", files=(name,)))
            made[saved.id] = span
    return made


def verify(oracle: Oracle, span: Span, state: AnchorState, head: str) -> str:
    """Check one state against the oracle; what was checked."""
    told = oracle.tell(span, head)
    another = told.where[0] if told.where is not None and told.where[0] != told.file else None
    if another and state.stale and state.commit and another not in oracle.wrote(state.commit):
        return "went to a file that got another name since"  # nobody follows that far
    assert (state.state, span) == (told.state, span)
    if told.where is not None:
        path, line = told.where
        here = state.state == "fresh"
        assert (state.path if here else state.now_path, state.start if here else state.now_start) == (path, line)
        return state.state
    if state.commit is None:
        assert state.state != "gone"
        assert not oracle.ever_held(span, head), f"{span}: {state}"
        return "never said in this history"
    if state.state == "gone":
        assert oracle.deleted(span, state.commit, head), f"{span}: {state}"
    else:
        assert oracle.took_it_out(span, state.commit, head) == "", f"{span}: {state}"
    assert oracle.git("rev-list", "--count", f"{state.commit}..{head}").strip() == str(state.commits_ago)
    assert oracle.git("show", "-s", "--format=%an", state.commit).strip() == state.author
    return state.state


def asked_for(app: Engram, states: dict[int, tuple[AnchorState, ...]]) -> int:
    """How many memories moved to another file; each is found by it."""
    moved = {row: state.now_path for row, (state,) in states.items() if state.now_path not in (None, state.path)}
    for row, path in moved.items():
        assert path is not None
        assert row in app.anchors.of_file(path, deadline=Deadline(UNHURRIED)), f"{states[row]}"
    return len(moved)


def replayed(data_dir: Path, root: Path, *, seed: int, commits: int, spans: int, heads: int) -> Counter[str]:
    """Save memories along a history, go to some of its later commits, and check every state there."""
    history = History(seed, files=24)
    history.grow(commits)
    ids = history.write(root)
    checked: Counter[str] = Counter()
    with Engram(data_dir, directory=root) as app:
        made = remember(app, root, history, ids, spans)
        rows: list[Observation] = list(table.by_ids(app.store, list(made)).values())
        oracle = Oracle(root)
        for number in range(heads):
            head = ids[history.main[-1 - number * len(history.main) // (3 * heads)]]
            checkout(root, head)
            states = app.anchors.states(rows, git_seconds=UNHURRIED)
            checked["found where it moved to"] += asked_for(app, states)
            checked.update(verify(oracle, span, states[row][0], head) for row, span in made.items())
    return checked


def test_every_state_of_sixty_memories_is_what_git_says(data_dir: Path, tmp_path: Path) -> None:
    checked = replayed(data_dir, tmp_path / "scripted", seed=1, commits=120, spans=60, heads=2)

    assert checked.pop("found where it moved to") >= 5
    assert sum(checked.values()) == 120
    assert min(checked[word] for word in ("fresh", "moved", "changed")) >= 10


@pytest.mark.soak
@pytest.mark.parametrize("seed", [2, 3])
def test_every_state_of_two_hundred_memories_in_six_hundred_commits_is_what_git_says(
    data_dir: Path, tmp_path: Path, seed: int
) -> None:
    checked = replayed(data_dir, tmp_path / "scripted", seed=seed, commits=600, spans=200, heads=4)

    assert checked.pop("found where it moved to") >= 20
    assert sum(checked.values()) == 800
    assert min(checked[word] for word in ("fresh", "moved", "changed", "gone")) >= 20
    assert checked["went to a file that got another name since"] <= 16


def why(root: Path, path: str) -> str:
    found = read_file(root, path)
    assert isinstance(found, Unread)
    return found.reason


@pytest.mark.parametrize(
    "path",
    ["../outside.py", "a/../../outside.py", "/etc/passwd", "..", "C:/x.py", "a\0b", "a\nb", "a\udc80", "x" * 2_000],
)
def test_a_path_that_leads_out_or_is_none_is_not_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.py").write_text("secret")
    assert not is_relative(path)
    assert why(tmp_path / "root", path) == "outside the repository"


@pytest.mark.skipif(os.name == "nt", reason="symlinks")
def test_a_symlink_is_followed_as_far_as_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "real.py").write_text("inside")
    (tmp_path / "outside.py").write_text("secret")
    (root / "in.py").symlink_to("sub/real.py")
    (root / "out.py").symlink_to("../outside.py")
    (root / "folder").symlink_to(tmp_path)
    assert getattr(read_file(root, "in.py"), "data", b"") == b"inside"
    assert why(root, "out.py") == why(root, "folder/outside.py") == "outside the repository"


def test_a_file_up_to_the_limit_is_read_and_no_larger_one(tmp_path: Path) -> None:
    (tmp_path / "fits").write_bytes(b"x" * MAX_FILE)
    (tmp_path / "large").write_bytes(b"x" * (MAX_FILE + 1))
    assert isinstance(read_file(tmp_path, "fits"), Content)
    assert why(tmp_path, "large") == "larger than 512 KB"


def test_only_a_missing_file_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in ("nothing", "file/below"):
        assert read_file(tmp_path, path) == Unread("no such file", missing=True)
    assert read_file(tmp_path, "") == Unread("a directory")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "closed").write_text("x")
    (tmp_path / "closed").chmod(0)
    assert read_file(tmp_path, "closed") == Unread("permission denied")


def test_git_names_a_file_by_its_text_with_the_line_ends_it_keeps() -> None:
    empty = Content(b"").blobs(sha256=False)
    assert empty == ("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",)
    assert Content(b"a\r\nb\r\n").blobs(sha256=False)[1] == Content(b"a\nb\n").blobs(sha256=False)[0]


@pytest.mark.parametrize(
    ("name", "path"),
    [(" ./a/b.py ", "a/b.py"), ("a\\b.py", "a/b.py"), ("././/a.py", "a.py"), ("file:///a.py", "/a.py"), (".", ".")],
)
def test_paths_are_written_with_slashes(name: str, path: str) -> None:
    assert slashed(name) == path
