"""The files a memory is about: their state, what changed in them since, and why that cannot be told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.interfaces.http.application import build_application
from engram_py.interfaces.web.access import Access
from engram_py.interfaces.web.rendering import diff
from tests.anchors.repositories import AUTH, Repo, lines
from tests.interfaces.http.asking import HOST, PORT, Asker
from tests.interfaces.web.visiting import Visitor
from tests.memory import clock, git, here, make_repo, open_memory, root

__all__ = ["clock", "git", "here", "make_repo", "open_memory", "root"]


@pytest.fixture
def reader(here: Engram, folder: Path) -> Visitor:
    """A browser of the server that runs in another folder than the repository."""
    made = Visitor(Asker(build_application(here.for_caller(folder), port=PORT)), f"http://{HOST}")
    made.look(f"/ui/enter?token={Access(here.settings.data_dir).link_token()}")
    return made


def saved(app: Engram, root: Path, *files: str) -> int:
    app.sessions.start("s1", project="widgets", directory=str(root))
    return app.save(Draft("A race", "Lock first.", files=files), session_id="s1").id


def test_a_changed_file_is_shown_with_what_changed_since(here: Engram, reader: Visitor, root: Path) -> None:
    row = saved(here, root, AUTH, "src/login.py")
    (root / AUTH).write_text("\n".join(["first = 1", *lines("auth")[1:]]) + "\n", encoding="utf-8")
    text = reader.look(f"/ui/memory/{row}").text
    assert f"{AUTH} changed, not committed yet" in text
    assert f"- {lines('auth')[0]}" in text
    assert "+ first = 1" in text
    assert "src/login.py unchanged" in text


def test_of_a_memory_about_some_lines_only_their_changes_are_shown(here: Engram, reader: Visitor, root: Path) -> None:
    row = saved(here, root, f"{AUTH}:30-32")
    text = [*lines("auth")]
    text[0], text[30] = "far = 1", "near = 1"
    (root / AUTH).write_text("\n".join(text) + "\n", encoding="utf-8")
    shown = reader.look(f"/ui/memory/{row}").text
    assert "+ near = 1" in shown
    assert "far = 1" not in shown


def test_a_repository_that_is_not_on_this_disk_is_said_to_be_missing(here: Engram, reader: Visitor, root: Path) -> None:
    row = saved(here, root, AUTH)
    shutil.rmtree(root)
    text = reader.look(f"/ui/memory/{row}").text
    assert "unknown" in text
    assert f"The folder that it was saved in is not on this disk: {root}" in text


def test_a_hostile_file_is_text(here: Engram, reader: Visitor, root: Path, git: object) -> None:
    repo = Repo(root, git)  # type: ignore[arg-type]
    repo.commit("evil", {"evil.html": ["<script>alert(1)</script>", "a"]})
    row = saved(here, root, "evil.html")
    repo.write("evil.html", ["<img src=x onerror=alert(2)>", "a\u202eb"])
    seen = reader.look(f"/ui/memory/{row}")
    assert "- <script>alert(1)</script>" in seen.text
    assert "a⟦RLO⟧b" in seen.text
    assert "img" not in [tag for tag, _ in seen.page.tags]
    assert all(one["src"].startswith("/ui/static/") for tag, one in seen.page.tags if tag == "script")


def test_a_diff_of_a_long_file_shows_its_changes_alone() -> None:
    long = [f"line {number}" for number in range(20_000)]
    other = [*long[:9_999], "new", *long[10_000:]]
    shown = [line.text for line in diff("\n".join(long), "\n".join(other))]
    assert shown == ["line 9997", "line 9998", "line 9999", "new", "line 10000", "line 10001"]
    assert [line.kind for line in diff("", "a\nb")] == ["new", "new"]
    assert diff("a\r\nb", "a\nb\n") == ()


@pytest.mark.parametrize(("span", "shown"), [((1, 1), False), ((2, 2), True), ((3, 3), False), ((1, 3), True)])
def test_a_span_is_counted_in_the_earlier_text(span: tuple[int, int], shown: bool) -> None:
    assert bool(diff("a\nb\nc", "a\nB\nc", span=span)) == shown
    assert bool(diff("a\nb\nc\nd", "a\nb\nnew\nc\nd", span=(1, 2))) is False
    assert bool(diff("a\nb\nc\nd", "a\nb\nnew\nc\nd", span=(2, 3))) is True
