"""Edits, deletions and their undo, and what other processes write meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.errors import EngramError
from engram_py.observations.values import Change
from tests.interfaces.tui.conftest import opened


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that is $EDITOR; a test writes what it does to the path in ``argv[1]``."""
    script = tmp_path / "editor.py"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    return script


def replaces(editor: Path, old: str, new: str) -> None:
    lines = ["import pathlib, sys", "file = pathlib.Path(sys.argv[1])"]
    editor.write_text("\n".join([*lines, f"file.write_text(file.read_text().replace({old!r}, {new!r}))"]))


async def test_a_deleted_memory_leaves_the_list_and_undo_brings_it_back(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("j", "d")
        assert seen.status == 'Deleted [#2] "Prices are integers of cents". u takes it back'
        assert [line for line in seen.list if "#2" in line] == []
        assert "[#1] Access tokens" in seen.preview
        with pytest.raises(EngramError):
            kept.get(2)
        await seen.press("u")
        assert 'Restored [#2] "Prices are integers of cents"' in seen.status
        assert len(seen.list) == 3
        await seen.press("u")
        assert "Nothing was changed here" in seen.status


async def test_changes_are_taken_back_one_after_the_other(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("d", "t", "x")
        assert [len(seen.list), kept.get(2).observation.pinned, kept.get(2).observation.lifecycle] == [
            1,
            True,
            "archived",
        ]
        await seen.press("u")
        assert kept.get(2).observation.lifecycle == "active"
        await seen.press("u")
        assert not kept.get(2).observation.pinned
        await seen.press("u")
        assert len(seen.list) == 3


async def test_an_edit_in_the_editor_is_kept_and_taken_back_whole(kept: Engram, editor: Path) -> None:
    replaces(editor, "type: decision\nscope: project\ntopic:", "type: policy\nscope: project\ntopic: hooks/twice")
    async with opened(kept) as seen:
        await seen.press("e")
        found = kept.get(3).observation
        assert (found.type, found.topic_key) == ("policy", "hooks/twice")
        assert "Updated [#3]" in seen.status
        assert "(policy · widgets" in seen.preview
        await seen.press("u")
        found = kept.get(3).observation
        assert (found.type, found.topic_key) == ("decision", None)


async def test_an_edit_that_is_refused_keeps_the_text_and_says_where(kept: Engram, editor: Path) -> None:
    replaces(editor, "title: ", "no head ")
    async with opened(kept, size=(200, 24)) as seen:
        await seen.press("e")
        assert "your text is kept in" in seen.status
        assert kept.get(3).observation.title == "Webhooks may arrive twice"
        [file] = (kept.settings.data_dir / "edits").iterdir()
        assert file.read_text().startswith("no head Webhooks")


async def test_undo_does_not_overwrite_what_somebody_wrote_since(kept: Engram, editor: Path) -> None:
    replaces(editor, "The handler", "A handler")
    async with opened(kept) as seen:
        await seen.press("e")
        kept.observations.update(3, Change(content="Theirs."))
        await seen.press("u")
        assert "changed meanwhile" in seen.status
        assert kept.get(3).observation.content == "Theirs."


async def test_what_another_process_saves_appears_and_the_cursor_stays_on_its_row(kept: Engram, here: Path) -> None:
    async with opened(kept) as seen:
        await seen.press("j")
        assert seen.list[1].startswith("> #2")
        words = ["save", "From elsewhere", "Saved by another process."]
        subprocess.run([sys.executable, "-m", "engram_py", *words], check=True, cwd=here, capture_output=True)
        await seen.until(lambda: len(seen.list) == 4)
        await seen.settled()
        assert "From elsewhere" in seen.list[0]
        assert seen.list[2].startswith("> #2")
        assert "[#2] Prices" in seen.preview


async def test_reading_counts_nothing_as_shown(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("j", "j", "3")
        await seen.type("access tokens")
        assert "#1" in seen.list[0]
    kept.usage.flush()
    assert kept.browsing.whole([1])[0].access_count == 0


async def test_a_row_that_was_deleted_meanwhile_says_so(kept: Engram) -> None:
    async with opened(kept) as seen:
        kept.save(Draft("Another", "One."))
        kept.observations.delete(2)
        await seen.press("j")
        await seen.until(lambda: "#2" not in "".join(seen.list))
