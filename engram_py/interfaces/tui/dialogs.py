"""What lies over the lists: the keys, and a choice of one thing among several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from engram_py.interfaces.tui.text import content, one_line

_KEYS = (
    ("1 2 3 4", "memories, sessions, search, review"),
    ("j k ↓ ↑", "next and previous; PgDn PgUp a page, g G the ends"),
    ("/", "narrow the list, or search; an empty line shows all again"),
    ("Enter", "read in the full width; Esc goes back"),
    ("Tab", "go to the preview, to scroll it, and back"),
    ("p", "choose a project"),
    ("e", "edit in $VISUAL or $EDITOR"),
    ("d", "delete; it is hidden, and u brings it back"),
    ("u", "take the last change back, then the one before it"),
    ("t", "pin on top of every session's context, or unpin"),
    ("x", "archive, or take out of the archive"),
    ("h", "with earlier texts"),
    ("a", "in review: accept, or say that it still holds"),
    ("v", "in review: say how a pair relates"),
    ("?", "these keys"),
    ("q", "quit"),
)


class KeysScreen(ModalScreen[None]):
    """The keys; any of ``?``, Enter, Esc and ``q`` closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,enter,q", "dismiss", show=False)]

    def compose(self) -> ComposeResult:
        lines = [part for key, what in _KEYS for part in ((f"{key:>8}  ", "bold"), (f"{what}\n", ""))]
        with VerticalScroll(classes="dialog"):
            yield Static(content([("Keys\n\n", "bold"), *lines]), markup=False)


class Choice(ModalScreen[str | None]):
    """Answers one of ``options``, None for Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", show=False),
        Binding("j", "app.simulate_key('down')", show=False),
        Binding("k", "app.simulate_key('up')", show=False),
    ]
    _CELLS = 60

    def __init__(self, question: str, options: Sequence[tuple[str, str]]) -> None:
        """``options`` are values with what is shown for them."""
        super().__init__()
        self._question, self._options = question, options

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content([(self._question, "bold")]), markup=False)
            shown = [Content(one_line(label, self._CELLS)) for _, label in self._options]
            yield OptionList(*shown, markup=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._options[event.option_index][0])
