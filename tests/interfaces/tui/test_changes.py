"""Edits, deletions and their undo, changes by others, long lists, and hostile texts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from engram_py import Draft, Engram
from engram_py.base.errors import EngramError
from engram_py.interfaces.tui.navigation import MOST_PAGES, PAGE, ListRow, RowList, padded, printable, shown_line
from engram_py.memory.observations.values import Change
from tests.interfaces.tui.conftest import opened


def replaces(editor: Path, old: str, new: str) -> None:
    lines = ["import pathlib, sys", "file = pathlib.Path(sys.argv[1])"]
    editor.write_text("\n".join([*lines, f"file.write_text(file.read_text().replace({old!r}, {new!r}))"]))


async def test_a_deleted_memory_leaves_the_list_and_undo_brings_it_back(kept: Engram) -> None:
    async with opened(kept) as seen:
        await seen.press("j", "d")
        assert seen.status == 'Deleted [#2] "Prices are integers of cents". u: undo'
        assert [line for line in seen.list if "#2" in line] == []
        assert "[#1] Access tokens" in seen.preview
        with pytest.raises(EngramError):
            kept.get(2)
        await seen.press("u")
        assert 'Took back the deletion of [#2] "Prices are integers of cents"' in seen.status
        assert len(seen.list) == 3
        await seen.press("u")
        assert "There is no change to undo" in seen.status


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
        assert "is not taken back: [#3] was changed again since" in seen.status
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


LENGTH = 100_000


class Long(App[None]):
    """A list of 100,000 rows alone, with a count of the pages that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.before = 0  # rows that came on top

    def compose(self) -> ComposeResult:
        yield RowList()

    async def fetch(self, offset: int) -> list[ListRow]:
        self.asked.append(offset)
        names = range(offset - self.before, min(offset + PAGE, LENGTH) - self.before)
        return [ListRow(name, f"#{name}", f"row {name}", "", name) for name in names]


async def test_a_long_list_reads_what_is_looked_at_and_keeps_a_few_pages() -> None:
    app = Long()
    async with app.run_test(size=(80, 24)) as pilot:
        rows = app.query_one(RowList)
        await rows.show(app.fetch)
        assert app.asked == [0]
        for _ in range(30):
            rows.move_to(rows.length - 1)
            await app.workers.wait_for_complete()
        assert rows.length > 20 * PAGE
        assert rows.held <= MOST_PAGES * PAGE
        rows.move_to(0)
        await pilot.pause()
        await app.workers.wait_for_complete()
        assert rows.row is not None
        assert rows.row.label == "row 0"


async def test_rows_that_come_on_top_leave_the_cursor_on_its_row() -> None:
    app = Long()
    async with app.run_test(size=(80, 24)) as pilot:
        rows = app.query_one(RowList)
        await rows.show(app.fetch)
        for _ in range(3):
            rows.move_to(rows.length - 1)
            await pilot.pause()
        rows.move_to(rows.cursor - 2)
        await pilot.pause()
        was = rows.row
        assert was is not None
        app.before = 5
        await rows.show(app.fetch, keep=True)
        assert rows.row == was


def test_pages_of_memories_and_of_sessions_follow_each_other_without_gaps(app: Engram) -> None:
    for number in range(7):
        app.save(Draft(f"Number {number}", f"Text {number}."), session_id=f"run-{number}")
    pages = [app.bulk.listed(limit=3, offset=offset).items for offset in (0, 3, 6, 9)]
    assert [[one.id for one in page] for page in pages] == [[7, 6, 5], [4, 3, 2], [1], []]
    sessions = [app.sessions.page(limit=3, offset=offset) for offset in (0, 3, 6, 9)]
    assert [one.id for page in sessions for one in page] == [one.id for one in app.sessions.recent(limit=20)]
    assert [one.id for one in app.sessions.page(containing="RUN-3")] == ["run-3"]
    app.observations.delete(4)
    app.sessions.end("run-3")
    assert [one.id for one in app.sessions.page(containing="run-3")] == []


MARKUP = "[red]loud[/red] [@click=app.quit]press[/] [bold"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "␛[31mred␛[0m", id="escape"),
        pytest.param("a\x00b", "a␀b", id="nul"),
        pytest.param("\x9b31m", "⟦U+009B⟧31m", id="one-byte-escape"),
        pytest.param("\u202efdp.exe", "⟦RLO⟧fdp.exe", id="turned-around"),
        pytest.param("\u200fmark", "⟦R⟧mark", id="right-to-left-mark"),
        pytest.param("a\u200bb\U000e0041", "a⟦U+200B⟧b⟦U+E0041⟧", id="unseen"),
        pytest.param("\ud800", "⟦U+D800⟧", id="half-a-pair"),
        pytest.param("one\r\ntwo\rthree\tfour", "one\ntwo␍three    four", id="line-ends"),
        pytest.param("עברית 日本語 é", "עברית 日本語 é", id="scripts"),
    ],
)
def test_what_a_terminal_would_obey_is_named(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize("text", ["x" * 10_000, "日本" * 5_000, "e\u0301" * 5_000, "\x1b" * 10_000, " \n" * 5_000])
def test_a_line_is_as_wide_as_it_may_be(text: str) -> None:
    from rich.cells import cell_len

    assert cell_len(padded(text, 20)) == 20
    assert cell_len(shown_line(text, 20)) <= 20


async def test_markup_and_escapes_of_a_memory_are_shown_and_do_nothing(app: Engram) -> None:
    app.save(Draft(f"{MARKUP} \x1b[31m", f"{MARKUP}\n\x1b]0;owned\x07 \u202eturned", type="note"))
    async with opened(app, size=(120, 30)) as seen:
        assert "[red]loud[/red]" in seen.list[0]
        assert f"{MARKUP}\n turned" in seen.preview
        assert not any(char in seen.text for char in "\x1b\x07\u202e")
        await seen.press("d")
        assert "[red]loud[/red]" in seen.status
        await seen.press("2")
        assert "[red]loud" in seen.text


async def test_a_title_of_ten_thousand_letters_takes_one_line(app: Engram) -> None:
    app.save(Draft("short", "A text."))
    with app.store.transaction():
        app.store.update("observations", {"id": 1}, {"title": "y" * 10_000})
    async with opened(app) as seen:
        assert len(seen.list) == 1
        assert seen.list[0].endswith("now")
        assert "y" * 300 in seen.preview


async def test_markup_in_the_filter_is_text(app: Engram) -> None:
    app.save(Draft("short", "A text."))
    async with opened(app) as seen:
        await seen.press("3", "slash")
        seen.app.query_one("#ask").value = "[/red] [bold"  # type: ignore[attr-defined]
        await seen.press("enter")
        assert "[/red] [bold" in seen.text


async def test_a_rule_in_a_text_is_let_speak_with_one_key_and_taken_back(kept: Engram) -> None:
    kept.save(Draft("Use pnpm, not npm", "Agreed.", "decision"))
    async with opened(kept) as seen:
        await seen.press("4")
        assert "no `npm *`; use pnpm" in seen.preview
        await seen.press("a")
        assert [one.rule.command for one in kept.guards.listed()] == ["npm *"]
        await seen.press("u")
        assert [one.id for one in kept.guards.offered()] == [4]
