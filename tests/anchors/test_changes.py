"""What a file said when a memory was saved about it, beside what it says now."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.anchors.moved_files import BINARY, NOT_COMMITTED
from engram_py.anchors.values import FileTexts
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, Repo, about, lines, without_git


def texts(app: Engram, saved: Saved) -> tuple[FileTexts, ...]:
    detail = app.get(saved.id)
    return app.anchors.texts(detail.observation, detail.anchors)


def changed() -> list[str]:
    return ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")]


def test_both_texts_of_a_changed_file_are_given(here: Engram, repo: Repo) -> None:
    saved = about(here, AUTH)
    assert texts(here, saved) == ()
    repo.write(AUTH, changed())
    [found] = texts(here, saved)
    assert found.before.splitlines() == lines("auth")
    assert found.after.splitlines() == changed()
    assert found.span is None


def test_the_lines_that_a_memory_is_about_are_counted_in_the_earlier_text(here: Engram, repo: Repo) -> None:
    repo.write(AUTH, ["# two", "# more", *lines("auth")])  # not committed: git has the lines two further up
    saved = about(here, f"{AUTH}:15-20")
    repo.commit("second", {AUTH: changed()})
    [found] = texts(here, saved)
    assert found.before.splitlines() == lines("auth")
    assert found.span == (13, 18)


def test_the_earlier_text_of_a_file_that_is_gone_is_given(here: Engram, repo: Repo) -> None:
    saved = about(here, AUTH)
    repo.delete(AUTH)
    [found] = texts(here, saved)
    assert found.before.splitlines() == lines("auth")
    assert found.after == ""


def test_a_text_that_was_never_committed_is_not_made_up(here: Engram, repo: Repo) -> None:
    repo.write(AUTH, lines("other"))
    saved = about(here, AUTH)
    repo.write(AUTH, changed())
    [found] = texts(here, saved)
    assert (found.why, found.before) == (NOT_COMMITTED, "")


def test_a_binary_file_and_a_machine_without_git_say_why(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.root / "logo.png").write_bytes(b"\x89PNG\0\1")
    repo.commit("a picture")
    picture, code = about(here, "logo.png"), about(here, AUTH, title="Auth")
    (repo.root / "logo.png").write_bytes(b"\x89PNG\0\2")
    repo.write(AUTH, changed())
    assert [one.why for one in texts(here, picture)] == [BINARY]
    without_git(monkeypatch, repo.root.parent / "empty")
    assert [one.why for one in texts(here, code)] == [NOT_COMMITTED]


def test_another_repository_gives_nothing(here: Engram, repo: Repo, tmp_path: Path) -> None:
    saved = about(here, AUTH)
    repo.write(AUTH, changed())
    detail = here.get(saved.id)
    elsewhere = here.for_caller(tmp_path)
    assert elsewhere.anchors.texts(detail.observation, detail.anchors) == ()
