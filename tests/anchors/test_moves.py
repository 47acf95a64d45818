"""Memories that are asked for by a file: the one they name, and the one their text is in now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.anchors.anchors import Anchors
from engram_py.anchors.trace import Log, read_log
from engram_py.anchors.worktree import _like as like
from engram_py.anchors.worktree import digest_of, mark_span
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, Repo, about, lines, state, write
from tests.memory import Opener


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


def test_memories_of_a_file_that_moved_are_found_by_the_hundred(here: Engram, repo: Repo) -> None:
    repo.commit("a long file", {AUTH: lines("auth", 900)})
    first = about(here, f"{AUTH}:1-4")
    repeat(here, first, map(four_lines, range(6, 751, 5)))
    repo.rename(AUTH, "src/identity.py")
    assert len(here.anchors.of_file("src/identity.py", limit=500)) == 150
    assert len(here.anchors.of_file("src/identity.py", limit=120)) == 120


def test_of_thousands_of_memories_of_a_file_that_moved_a_few_are_compared(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("a long file", {AUTH: lines("auth", 900)})
    first = about(here, f"{AUTH}:1-4")
    repeat(here, first, [four_lines(start) for start in range(2, 892)] * 4)
    repo.git("mv", AUTH, "src/identity.py")
    repo.commit("rename and change", {"src/identity.py": ["import os", *lines("auth", 900)]})
    scans = sizes(monkeypatch, like, "engram_py.anchors.worktree._like")
    here.anchors.of_file("src/identity.py")  # git is asked
    assert sum(scans) < 900 * 20
    hashed = sizes(
        monkeypatch,
        digest_of,
        *(f"engram_py.anchors.{module}.digest_of" for module in ("worktree", "moved_files")),
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
    hashed = sizes(monkeypatch, digest_of, "engram_py.anchors.moved_files.digest_of")
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
    monkeypatch.setattr("engram_py.anchors.moved_files._ANCHORS_READ", 20)
    monkeypatch.setattr("engram_py.anchors.moved_files._ANCHORS_COMPARED", 50)
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
    monkeypatch.setattr("engram_py.anchors.anchors.local_states", lambda *_: pytest.fail("compared"))
    assert here.anchors.of_file(AUTH) == [saved.id]
    assert here.anchors.of_file("lib/auth.py") == []
    monkeypatch.setattr(Anchors, "states", lambda *_, **__: pytest.fail("compared"))
    repo.rename(AUTH, "src/identity.py")
    assert here.anchors.of_file("src/other.py") == []


def test_a_file_that_was_renamed_and_changed_throughout_is_asked_for_by_its_new_name(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, saved: Saved
) -> None:
    repo.rename(AUTH, "src/identity.py")
    repo.commit("rewrite", {"src/identity.py": ["all = new"]})
    assert here.anchors.of_file("identity.py", git_seconds=0) == []  # nobody asked git yet
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

    monkeypatch.setattr("engram_py.anchors.trace.read_log", counted)
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
