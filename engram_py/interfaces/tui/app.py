"""``engram tui`` itself: a list of one of four kinds, a preview beside it, the keys, what a person changes and how each
change is taken back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, ClassVar, TypeVar

import click
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.errors import EngramError
from engram_py.interfaces.cli.observations import edit_in_editor
from engram_py.interfaces.screen_values import Waiting
from engram_py.interfaces.tui.navigation import ListRow, Navigation, RowList, content, shown_line
from engram_py.interfaces.tui.panels import MemoryPanel, Panel, Reader, ReviewPanel, SearchPanel, SessionPanel, View
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.reasons import spelled
from engram_py.observations.arguments import change_back, live_observation
from engram_py.observations.errors import BulkFilterError
from engram_py.observations.values import Change, Changed, Observation
from engram_py.relations.values import VERBS, Relation


@dataclass(frozen=True, slots=True)
class ChangeDone:
    """A change that was made, in words, and the call that takes it back; None where nothing does."""

    said: str
    take_back: Callable[[Engram], object] | None = None


def take_back(view: View, done: ChangeDone) -> ChangeDone:
    assert done.take_back is not None
    return ChangeDone(_said(done.take_back(view.app), view))


def delete(view: View, observation_id: int) -> ChangeDone:
    deleted = view.app.observations.delete(observation_id)
    return ChangeDone(
        f'Deleted [#{deleted.id}] "{deleted.title}"', lambda app: app.observations.undelete(observation_id)
    )


def pin(view: View, observation_id: int) -> ChangeDone:
    """Pin what is not pinned, and unpin what is."""
    to = not live_observation(view.app.store, observation_id).pinned
    pinned = view.app.observations.pin(observation_id, pinned=to)
    return ChangeDone(_said(pinned, view), lambda app: app.observations.pin(observation_id, pinned=not to))


def archive(view: View, observation_id: int) -> ChangeDone:
    """Archive what is not archived, and take out what is."""
    to = live_observation(view.app.store, observation_id).lifecycle != "archived"
    title = view.app.observations.update(observation_id, Change(archived=to)).title
    said = "Archived, searches and contexts leave it out:" if to else "Taken out of the archive:"
    return ChangeDone(
        f'{said} [#{observation_id}] "{title}"',
        lambda app: app.observations.update(observation_id, Change(archived=not to)),
    )


def accept(view: View, row: ListRow) -> ChangeDone:
    """Stand for what was derived, imported or sent; say of what is overdue or changed that it still holds."""
    _, one = row.value
    if not isinstance(one, Waiting):
        return ChangeDone("v says how the two relate")
    if row.head in ("overdue", "changed"):
        return ChangeDone(_said(view.app.observations.mark_reviewed(one.row.id), view))
    if row.head == "rule":
        return ChangeDone(_said(view.app.guards.accept(one.row.id), view), lambda app: app.guards.unaccept(one.row.id))
    accepted = view.app.observations.accept(one.row.id)
    return ChangeDone(_said(accepted, view), lambda app: app.observations.unaccept(accepted))


def judge(view: View, relation: str, verdict: str) -> ChangeDone:
    return ChangeDone(_said(view.app.relations.judge(relation, verdict), view))


def update(view: View, base: Observation, change: Change) -> ChangeDone:
    """Keep an edit of ``base``. Raises ChangedMeanwhileError."""
    updated = view.app.observations.update(base.id, change, base=base, by="person")
    if updated.outcome == "unchanged":
        return ChangeDone(_said(updated, view))
    before = change_back(base, updated.changed)
    now = live_observation(view.app.store, base.id)

    def put_back(app: Engram) -> Changed:
        assert before is not None
        return app.observations.update(base.id, before, base=now)

    return ChangeDone(_said(updated, view), put_back if before else None)


def _said(value: object, view: View) -> str:
    return render.text(value, now=view.now, door="cli").replace("\n", "; ")


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


class ChoiceScreen(ModalScreen[str | None]):
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
            shown = [Content(shown_line(label, self._CELLS)) for _, label in self._options]
            yield OptionList(*shown, markup=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._options[event.option_index][0])


T = TypeVar("T")

LOOK_SECONDS = 0.5
# A cursor that goes on at once needs no preview, and one that goes on soon none that takes long.
_REST_SECONDS, _LONG_REST_SECONDS = 0.03, 0.4


class TerminalApp(Navigation):
    """Shows an open memory, and follows what other processes write to it."""

    def __init__(self, app: Engram, *, project: str | None = None) -> None:
        # The terminal's own colours: nobody is asked whether it is dark or light.
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._reader = Reader(app, project)
        self._data_dir = app.settings.data_dir
        self.panels: tuple[Panel, ...] = (MemoryPanel(), SessionPanel(), SearchPanel(), ReviewPanel())
        self.panel: Panel = self.panels[0]
        self._done: list[ChangeDone] = []
        self._history = False
        self._shown: tuple[object, str] = (None, "")  # the row and the text of the preview
        self._version: object = None
        self._looking = False

    async def on_mount(self) -> None:
        self.set_focus(self.rows)
        self._show_head()
        self._begin()

    @work
    async def _begin(self) -> None:
        self._version = await self._asked(self._reader.version())
        await self._show_rows()
        self.set_interval(LOOK_SECONDS, self._look)

    # --- showing ----------------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show a line at the foot until the next one."""
        self.query_one("#status", Static).update(Content(shown_line(text, max(20, self.size.width - 2))))

    def _show_head(self) -> None:
        parts = [(" engram ", "bold")]
        for number, panel in enumerate(self.panels, start=1):
            parts.append((f" {number} {panel.name} ", "bold reverse" if panel is self.panel else ""))
        project = self._reader.project
        parts.append((f"  {shown_line(project, 20)}" if project else "  all projects", "dim"))
        self.query_one("#head", Static).update(content(parts))
        typed = self.panel.typed
        asked = [("/ ", "bold"), (shown_line(typed, 200), "")] if typed else [(f"/ {self.panel.asks}", "dim")]
        self.query_one("#asked", Static).update(content(asked))
        self.query_one("#keys", Static).update(content([(f"{self.panel.keys}  p project  ? keys  q quit", "")]))

    async def _asked(self, answer: Awaitable[T]) -> T | None:
        """Return an answer; None where it is refused, which is said at the foot."""
        try:
            return await answer
        except EngramError as exc:
            self.say(f"{exc.message}. {spelled(exc.next_step, 'cli')}")
        return None

    async def _show_rows(self, *, keep: bool = False) -> None:
        panel = self.panel

        async def fetch(offset: int) -> list[ListRow]:
            rows = await self._asked(self._reader.ask(lambda view: panel.rows(view, offset)))
            return rows or []

        await self.rows.show(fetch, keep=keep)
        self._show_preview()

    def on_row_list_moved(self, _: RowList.Moved) -> None:
        self._history = False
        self._show_preview()

    @work(group="preview", exclusive=True)
    async def _show_preview(self) -> None:
        if not self.query("#rows"):  # the interface is closing
            return
        panel, row = self.panel, self.rows.row
        if row is None:
            if not self.rows.length:
                self._put(content(panel.nothing()), None)
            return
        await asyncio.sleep(_REST_SECONDS)
        await self._put_preview(panel, row, whole=self._history)
        if panel.slow:
            await asyncio.sleep(_LONG_REST_SECONDS)
            await self._put_preview(panel, row, whole=True)

    async def _put_preview(self, panel: Panel, row: ListRow, *, whole: bool) -> None:
        try:
            made = await self._reader.ask(lambda view: content(panel.preview(view, row, whole=whole)))
        except EngramError as exc:  # it was deleted meanwhile
            made = content([(f"{exc.message}\n", "bold"), (spelled(exc.next_step, "cli"), "")])
        self._put(made, row)

    def _put(self, made: Content, row: ListRow | None) -> None:
        """Show a preview; where it is the same row's as before, the reader stays at the line they are at."""
        key = (self.panel.name, None if row is None else row.key)
        if (key, made.plain) == self._shown:
            return
        if key != self._shown[0]:
            self.side.scroll_home(animate=False)
        self._shown = (key, made.plain)
        self.query_one("#preview", Static).update(made)

    @work(group="look")  # which ends with the application
    async def _look(self) -> None:
        """Show what somebody wrote, if anybody did."""
        if self._looking:
            return
        self._looking = True
        try:
            version = await self._asked(self._reader.version())
            if version is not None and version != self._version:
                self._version = version
                await self._show_rows(keep=True)
        finally:
            self._looking = False

    # --- going about ------------------------------------------------------------------------------------------

    async def action_panel(self, place: int) -> None:
        self.panel = self.panels[place]
        self._history = False
        self._show_head()
        self.action_leave()
        await self._show_rows()

    def action_ask(self) -> None:
        field = self.query_one("#ask", Input)
        field.value = self.panel.typed
        field.placeholder = self.panel.asks
        field.display = True
        self.query_one("#asked").display = False
        self.set_focus(field)  # at once: the next keys are for it

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        await self._narrow(event.value.strip())

    async def _narrow(self, typed: str) -> None:
        """Narrow the list. Words narrow no list of memories: they are searched for."""
        self.panel.typed = typed
        if isinstance(self.panel, MemoryPanel) and typed:
            try:
                await self._reader.ask(lambda view: view.app.bulk.listed(typed, **view.place, limit=1))
            except BulkFilterError:
                self.panel.typed = ""
                self.panel = self.panels[2]
                self.panel.typed = typed
            except EngramError:
                pass  # said when the rows are read
        self._show_head()
        self.action_leave()
        await self._show_rows()

    def action_keys(self) -> None:
        self.push_screen(KeysScreen())

    async def action_project(self) -> None:
        found = await self._asked(self._reader.ask(lambda view: view.app.projects.list()))
        if found is None:
            return
        options = [("", "all projects"), *((one.name, one.name) for one in found)]

        async def chosen(name: str | None) -> None:
            if name is not None:
                self._reader.project = name or None
                self._show_head()
                await self._show_rows()

        self.push_screen(ChoiceScreen("Show the memories of", options), chosen)

    async def action_history(self) -> None:
        self._history = not self._history
        self._show_preview()

    # --- changing ---------------------------------------------------------------------------------------------

    async def _change(self, work: Callable[[View], ChangeDone]) -> None:
        done = await self._asked(self._reader.ask(work))
        if done is not None:
            await self._finish(done)

    async def _finish(self, done: ChangeDone) -> None:
        if done.take_back is not None:
            self._done.append(done)
        self.say(f"{done.said}{'. u takes it back' if done.take_back else ''}")
        await self._show_rows(keep=True)

    def _here(self) -> int | None:
        """Return the memory under the cursor."""
        row = self.rows.row
        found = self.panel.observation(row) if row is not None else None
        if found is None:
            self.say("No memory is chosen here")
        return found

    async def action_delete(self) -> None:
        if (here := self._here()) is not None:
            await self._change(lambda view: delete(view, here))

    async def action_pin(self) -> None:
        if (here := self._here()) is not None:
            await self._change(lambda view: pin(view, here))

    async def action_archive(self) -> None:
        if (here := self._here()) is not None:
            await self._change(lambda view: archive(view, here))

    async def action_undo(self) -> None:
        if not self._done:
            self.say("Nothing was changed here that could be taken back")
            return
        done = self._done.pop()
        await self._change(lambda view: take_back(view, done))

    async def action_accept(self) -> None:
        row = self.rows.row
        if isinstance(self.panel, ReviewPanel) and row is not None:
            await self._change(lambda view: accept(view, row))

    def action_verdict(self) -> None:
        row = self.rows.row
        pair = row.value[1] if isinstance(self.panel, ReviewPanel) and row is not None else None
        if not isinstance(pair, Relation):
            return
        relation = pair.sync_id

        async def chosen(verdict: str | None) -> None:
            if verdict is not None:
                await self._change(lambda view: judge(view, relation, verdict))

        options = [(verb, verb.replace("_", " ")) for verb in VERBS]
        self.push_screen(ChoiceScreen("The first one … the second", options), chosen)

    async def action_edit(self) -> None:
        here = self._here()
        if here is None:
            return
        base = await self._asked(self._reader.ask(lambda view: live_observation(view.app.store, here)))
        if base is None:
            return

        def keep(change: Any) -> ChangeDone:
            return self._reader.ask_here(lambda view: update(view, base, change))

        try:
            with self._given_away():
                done = edit_in_editor(base, self._data_dir, keep)
        except (EngramError, click.ClickException, OSError, UnicodeDecodeError) as exc:
            said = exc.message if isinstance(exc, EngramError | click.ClickException) else str(exc)
            self.say("; ".join([said, *getattr(exc, "__notes__", ())]))
            return
        await self._finish(done)

    def _given_away(self) -> contextlib.AbstractContextManager[None]:
        """Give the terminal to another program for a while, where there is one to give."""
        return self.suspend() if self._driver is not None and self._driver.can_suspend else contextlib.nullcontext()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < 60, "narrow")
