"""The parts of the screen, the keys, and moving about between them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input, Static

from engram_py.interfaces.tui.rows import RowList

# Keys and what they do. The application itself handles each before the next one, so that keys that come faster than
# the screen changes do not reach what had the focus before.
_KEYS = {
    **{str(place): f"panel({place - 1})" for place in range(1, 5)},
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
    "v": "verdict",
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

    def action_read(self) -> None:
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
