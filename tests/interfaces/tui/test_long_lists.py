"""Lists of any length: what is read, what is kept, and where the cursor stays."""

from __future__ import annotations

from textual.app import App, ComposeResult

from engram_py import Draft, Engram
from engram_py.interfaces.tui.rows import MOST_PAGES, PAGE, ListRow, RowList

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
