"""The screen, the keys to move about in it, a list of any length that holds a few pages of it, and how texts are shown:
Markdown is rendered, and a control character is named instead of obeyed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# A text and its style; an empty style is plain, and MARKDOWN renders the text.
Part = tuple[str, str]
MARKDOWN = "markdown"

_MOST_RENDERED = 10_000  # characters, which take a quarter of a second; a longer text is shown as it was written
_LOOKED_AT = 4  # characters that are looked at for each cell of a line
# Control characters, marks that turn text around, and characters that nobody sees.
_UNSEEN = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_BLANKS = regex(r"\s+")


def printable(text: str) -> str:
    """Return the text with what a terminal would obey, or a reader not see, named instead."""
    return _UNSEEN.sub(_named, text.replace("\r\n", "\n")).replace("\t", "    ")


def _named(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)  # ␀, ␛
    name = unicodedata.bidirectional(match[0])
    return f"⟦{name}⟧" if name in _TURNING or code in _MARKS else f"⟦U+{code:04X}⟧"


_TURNING = frozenset({"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"})
_MARKS = frozenset({0x200E, 0x200F, 0x061C})


def shown_line(text: str, cells: int) -> str:
    """Return the beginning of the text in one line of at most so many cells."""
    begins = text[: max(cells, 0) * _LOOKED_AT + 1]
    line = _BLANKS.sub(" ", printable(begins)).strip()
    if len(begins) == len(text) and cell_len(line) <= cells:
        return line
    return f"{set_cell_size(line, cells - 1).rstrip()}…" if cells > 0 else ""


def padded(text: str, cells: int) -> str:
    """Return the text in one line of exactly so many cells."""
    return set_cell_size(shown_line(text, cells), cells)


def content(parts: Iterable[Part]) -> Content:
    """Return the parts one after the other, each as text."""
    return Content.assemble(*((printable(text), style) for text, style in parts))


def rendered(parts: Iterable[Part]) -> RenderableType:
    """Return the parts one below the other, their Markdown rendered."""
    found: list[RenderableType] = []
    for is_markdown, group in groupby(parts, key=lambda part: part[1] == MARKDOWN):
        if is_markdown:
            found += [_markdown(text) if len(text) <= _MOST_RENDERED else Text(printable(text)) for text, _ in group]
        else:
            text = Text.assemble(*((printable(text), style) for text, style in group))
            if text.plain.endswith("\n"):  # the next one begins a line anyway
                text.right_crop(1)
            found.append(text)
    return Group(*found)


def _markdown(text: str) -> RenderableType:
    """Return a memory's Markdown. A line end stays one, headings keep left, and code has no colours."""
    from rich.markdown import Markdown

    made = Markdown("", hyperlinks=False, code_theme="ansi_dark")
    made.parsed = _parser().parse(printable(text))
    for token in made.parsed:
        token.tag = "h2" if token.tag == "h1" else token.tag
        token.info = ""
        for child in token.children or ():
            child.type = "hardbreak" if child.type == "softbreak" else child.type
            child.content = printable(child.content)  # a character may be written as `&#x202e;`
    return made


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")


# Rich's own styles set colours that cannot be read on every ground.
STYLES = {
    **dict.fromkeys(("markdown.h1", "markdown.h2", "markdown.table.header"), "bold underline"),
    **dict.fromkeys(("markdown.h3", "markdown.h4", "markdown.h5", "markdown.h6", "markdown.code"), "bold"),
    **dict.fromkeys(("markdown.item.bullet", "markdown.item.number"), "bold"),
    **dict.fromkeys(("markdown.link_url", "markdown.hr", "markdown.table.border"), "dim"),
    **dict.fromkeys(("markdown.link", "markdown.code_block", "markdown.table.row"), ""),
    "markdown.block_quote": "italic",
}

PAGE = 100
MOST_PAGES = 6
_MOST_HEAD, _MOST_KIND = 11, 12
_KIND_FROM = 50  # cells of a list that has room for a column of kinds
_AHEAD = 30  # rows before the end at which the next page is fetched

_HEAD, _PLAIN, _CURSOR, _FAINT_CURSOR = Style(dim=True), Style(), Style(reverse=True), Style(bold=True)


@dataclass(frozen=True, slots=True)
class ListRow:
    """A line of a list: ``head`` before its label, ``kind`` and ``note`` in columns at its end. ``key`` tells rows
    apart."""

    key: Hashable
    head: str
    label: str
    note: str
    value: Any
    kind: str = ""


# Gives the rows from a place on, at most a page of them.
Fetch = Callable[[int], Awaitable[list[ListRow]]]


class RowList(ScrollView, can_focus=True):
    """Shows rows and a cursor. A page is fetched when it comes into sight, and dropped when it is far away."""

    DEFAULT_CSS = "RowList { overflow-x: hidden; }"

    class Moved(Message):
        """The cursor is on another row, or on none."""

        def __init__(self, row: ListRow | None) -> None:
            super().__init__()
            self.row = row

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cursor = 0
        self.length = 0  # rows that are known of
        self.complete = True  # whether there are no more
        self._pages: OrderedDict[int, list[ListRow]] = OrderedDict()
        self._fetch: Fetch | None = None
        self._loading: set[int] = set()
        self._generation = 0
        self._told: Hashable = None
        self._cells: tuple[int, int, int] = 0, 0, 0  # the widest head, kind and note, each a column

    # --- what is shown ----------------------------------------------------------------------------------------

    @property
    def row(self) -> ListRow | None:
        """The row under the cursor."""
        return self._row(self.cursor)

    @property
    def held(self) -> int:
        """The number of rows in memory."""
        return sum(map(len, self._pages.values()))

    async def show(self, fetch: Fetch, *, keep: bool = False) -> None:
        """Show other rows. ``keep`` leaves the cursor on its row where that is still near, else at its place."""
        self._generation += 1
        generation, key = self._generation, self.row.key if keep and self.row is not None else None
        pages = await self._around(self.cursor if keep else 0, fetch)
        if generation != self._generation:
            return
        self._fetch, self._pages, self._loading = fetch, pages, set()
        number, last = next(reversed(pages.items()))
        self.length, self.complete = number * PAGE + len(last), len(last) < PAGE
        place = self._place_of(key) if key is not None else None
        before = self.cursor
        self.cursor = min(before if keep else 0, max(0, self.length - 1)) if place is None else place
        self._resize()
        if place is not None:
            self.scroll_to(y=self.scroll_offset.y + place - before, animate=False)
        elif not keep:
            self.scroll_to(y=0, animate=False)
        self._tell(always=not keep)

    async def _around(self, place: int, fetch: Fetch) -> OrderedDict[int, list[ListRow]]:
        """Return the page of a row, with the one before it and the one after it, in their order."""
        pages: OrderedDict[int, list[ListRow]] = OrderedDict()
        for number in range(max(0, place // PAGE - 1), place // PAGE + 2):
            rows = await fetch(number * PAGE)
            if rows or not number:
                pages[number] = rows
            if len(rows) < PAGE:
                break
            if place < PAGE // 2 and not number:
                break  # nobody looks beyond the first page yet
        return pages or await self._around(max(0, place - PAGE), fetch)  # the list became shorter

    def _place_of(self, key: Hashable) -> int | None:
        for number, rows in self._pages.items():
            for place, row in enumerate(rows):
                if row.key == key:
                    return number * PAGE + place
        return None

    def _resize(self) -> None:
        rows = [row for page in self._pages.values() for row in page]
        head, kind, note = (
            max((cell_len(getattr(row, name)) for row in rows), default=0) for name in ("head", "kind", "note")
        )
        self._cells = min(head, _MOST_HEAD), min(kind, _MOST_KIND), note
        self.virtual_size = Size(self.size.width, self.length + (not self.complete))
        self.refresh()

    def _row(self, place: int) -> ListRow | None:
        page = self._pages.get(place // PAGE)
        if page is None:
            return None
        self._pages.move_to_end(place // PAGE)
        return page[place % PAGE] if 0 <= place % PAGE < len(page) else None

    def _need(self, place: int) -> None:
        """Fetch the page of a row, once."""
        number = place // PAGE
        if self._fetch is not None and number not in self._pages and number not in self._loading:
            self._loading.add(number)
            self._load(number, self._generation)

    @work(group="pages")
    async def _load(self, number: int, generation: int) -> None:
        assert self._fetch is not None
        rows = await self._fetch(number * PAGE)
        if generation != self._generation:
            return
        self._loading.discard(number)
        self._pages[number] = rows
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)
        if not self.complete and number * PAGE + len(rows) >= self.length:
            self.length = number * PAGE + len(rows)
            self.complete = len(rows) < PAGE
        self._resize()
        self._tell()

    def _tell(self, *, always: bool = False) -> None:
        row = self.row
        key = None if row is None else row.key
        if always or key != self._told:
            self._told = key
            self.post_message(self.Moved(row))

    # --- drawing ----------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        place, width = self.scroll_offset.y + y, self.scrollable_content_region.width
        if place >= self.length:
            if place == self.length and not self.complete:
                self._need(place)
                return Strip([Segment(padded("  …", width), _HEAD)], width)
            return Strip.blank(width)
        row = self._row(place)
        if row is None:
            self._need(place)
            return Strip([Segment(padded("  …", width), _HEAD)], width)
        is_cursor = place == self.cursor
        style = (_CURSOR if self.has_focus else _FAINT_CURSOR) if is_cursor else _PLAIN
        head_cells, kind_cells, note_cells = self._cells
        head = f"{'>' if is_cursor else ' '} {padded(row.head, head_cells)} "
        note = shown_line(row.note, width // 3)
        note = " " * (min(note_cells, width // 3) - cell_len(note) + 1) + note + " "
        if kind_cells and width >= _KIND_FROM:
            note = f" {padded(row.kind, kind_cells)}{note}"
        label = padded(row.label, width - cell_len(head) - cell_len(note))
        faint = style if is_cursor else _HEAD
        return Strip([Segment(head, faint), Segment(label, style), Segment(note, faint)], width)

    def on_resize(self, _: events.Resize) -> None:
        self._resize()
        self._keep_in_sight()

    def on_focus(self) -> None:
        self.refresh()

    on_blur = on_focus

    # --- moving -----------------------------------------------------------------------------------------------

    def move_to(self, place: int) -> None:
        """Put the cursor on a row, as far as rows are known."""
        place = max(0, min(place, self.length - 1))
        if not self.complete and place + _AHEAD >= self.length:
            self._need(self.length)
        if self.length and place != self.cursor:
            self.cursor = place
            self._keep_in_sight()
            self.refresh()
            self._tell()

    def _keep_in_sight(self) -> None:
        height, top = self.size.height, round(self.scroll_target_y)
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False)
        elif height and self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1 + (self.cursor == self.length - 1), animate=False)

    def on_click(self, event: events.Click) -> None:
        self.move_to(self.scroll_offset.y + event.y)


# Keys and what they do. The application itself handles each before the next one, so that keys that come faster than
# the screen changes do not reach what had the focus before.
_KEYS = {
    **{str(place): f"panel({place - 1})" for place in range(1, 8)},
    "up,k": "move(-1)",
    "down,j": "move(1)",
    "pageup,ctrl+b": "page(-1)",
    "pagedown,ctrl+f,space": "page(1)",
    "home,g": "first",
    "end,G": "last",
    "enter": "read",
    "tab": "other_side",
    "slash": "ask",
    "question_mark": "keys",
    "p": "project",
    "e": "edit",
    "d": "delete",
    "u": "undo",
    "t": "pin",
    "x": "archive",
    "h": "history",
    "a": "accept",
    "c": "decline",
    "v": "verdict",
    "m": "merge",
    "w": "move_to",
    "n": "new",
    "r": "run",
    "o": "off",
    "escape": "leave",
    "q": "close",
}
_ACTIONS = frozenset(action.partition("(")[0] for action in _KEYS.values())


class Navigation(App[None]):
    """A list with a preview beside it, a field above them, and the focus on one of the three."""

    ENABLE_COMMAND_PALETTE = False
    CSS_PATH = "style.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, show=False, priority=True) for keys, action in _KEYS.items()
    ]

    def compose(self) -> ComposeResult:
        yield Static(id="head", markup=False)
        yield Static(id="asked", markup=False)
        yield Input(id="ask", compact=True, select_on_focus=False)
        with Horizontal(id="body"):
            yield RowList(id="rows")
            with VerticalScroll(id="side"):
                yield Static(id="preview", markup=False)
        yield Static(id="status", markup=False)
        yield Static(id="keys", markup=False)

    @property
    def rows(self) -> RowList:
        return self.query_one("#rows", RowList)

    @property
    def side(self) -> VerticalScroll:
        return self.query_one("#side", VerticalScroll)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Leave the keys to a dialog that is open, and to the field; Esc alone leaves the field."""
        if action not in _ACTIONS:
            return True
        return len(self.screen_stack) == 1 and (action == "leave" or not isinstance(self.focused, Input))

    def action_leave(self) -> None:
        """Leave the field, the preview or the wide view."""
        self.query_one("#ask", Input).display = False
        self.query_one("#asked").display = True
        self.query_one("#body").remove_class("wide")
        self.set_focus(self.rows)

    async def action_read(self) -> None:
        """Give the preview the whole width."""
        self.query_one("#body").add_class("wide")
        self.set_focus(self.side)

    def action_other_side(self) -> None:
        self.set_focus(self.side if self.focused is self.rows else self.rows)

    def action_move(self, by: int) -> None:
        if self.focused is self.side:
            self.side.scroll_relative(y=by, animate=False)
        else:
            self.rows.move_to(self.rows.cursor + by)

    def action_page(self, by: int) -> None:
        if self.focused is self.side:
            self.side.scroll_relative(y=by * self.side.size.height, animate=False)
        else:
            self.rows.move_to(self.rows.cursor + by * max(1, self.rows.size.height - 1))

    def action_first(self) -> None:
        if self.focused is self.side:
            self.side.scroll_home(animate=False)
        else:
            self.rows.move_to(0)

    def action_last(self) -> None:
        if self.focused is self.side:
            self.side.scroll_end(animate=False)
        else:
            self.rows.move_to(self.rows.length - 1)

    def action_close(self) -> None:
        self.exit()
