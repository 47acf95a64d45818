"""``engram tui`` itself: a list of one of seven kinds, a preview beside it, the keys, and the dialogs that ask."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click
from rich.theme import Theme
from textual import events, work
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from engram_py.app import Engram
from engram_py.base.errors import EngramError
from engram_py.guidance.guards.values import GuardLine
from engram_py.interfaces.cli.observations import edit_in_editor
from engram_py.interfaces.tui import changes, panels
from engram_py.interfaces.tui.navigation import (
    STYLES,
    ListRow,
    Navigation,
    Part,
    RowList,
    content,
    rendered,
    shown_line,
)
from engram_py.interfaces.tui.previews import AskScreen, ChoiceScreen, KeysScreen
from engram_py.interfaces.wording.render import person_text
from engram_py.memory.observations.arguments import live_observation
from engram_py.memory.observations.errors import BulkFilterError
from engram_py.memory.observations.values import Change, Observation
from engram_py.memory.projects.values import ProjectLine
from engram_py.memory.relations.values import VERBS, Relation

T = TypeVar("T")

LOOK_SECONDS = 0.5
STACKED_BELOW = 100  # cells: a preview beside the list needs as much
# A cursor that goes on at once needs no preview, and one that goes on soon none that takes long.
_REST_SECONDS, _LONG_REST_SECONDS = 0.03, 0.4


class TerminalApp(Navigation):
    """Shows an open memory, and follows what other processes write to it."""

    TITLE = "engram tui"

    def __init__(self, app: Engram, *, project: str | None = None) -> None:
        # The terminal's own colours: nobody is asked whether it is dark or light.
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.console.push_theme(Theme(STYLES))
        self.set_class(not (getattr(sys.__stderr__, "encoding", "") or "").lower().startswith("utf"), "ascii")
        self._reader = changes.Reader(app, project)
        self._data_dir = app.settings.data_dir
        self.panels: tuple[panels.Panel, ...] = (
            *(panels.MemoryPanel(), panels.SessionPanel(), panels.SearchPanel(), panels.ReviewPanel()),
            *(panels.GuardPanel(), panels.ProjectPanel(), panels.UpkeepPanel()),
        )
        self.panel: panels.Panel = self.panels[0]
        self._done: list[changes.ChangeDone] = []
        self._history = False
        self._shown: tuple[object, Sequence[Part]] = (None, ())  # the row and the parts of the preview
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
        parts: list[Part] = []
        for number, panel in enumerate(self.panels, start=1):
            parts += [(f"{number} {panel.name}", "bold reverse" if panel is self.panel else ""), (" ", "")]
        room = max(0, self.size.width - sum(len(text) for text, _ in parts) - 1)
        parts.append((shown_line(self._reader.project or "all projects", room).rjust(room), "dim"))
        self.query_one("#head", Static).update(content(parts))
        typed = self.panel.typed
        asked = [("/ ", "bold"), (shown_line(typed, 200), "")] if typed else [(f"/ {self.panel.asks}", "dim")]
        self.query_one("#asked", Static).update(content(asked))
        self.query_one("#keys", Static).update(content([(f"{self.panel.keys}  p project  ? keys", "")]))

    async def _asked(self, answer: Awaitable[T]) -> T | None:
        """Return an answer; None where it is refused, which is said at the foot."""
        try:
            return await answer
        except EngramError as exc:
            self.say(person_text(exc).replace("\n", "; "))
        return None

    async def _show_rows(self, *, keep: bool = False) -> None:
        panel = self.panel

        async def fetch(offset: int) -> list[ListRow]:
            rows = await self._asked(self._reader.ask(lambda view: panel.rows(view, offset)))
            return rows or []

        if not self.query("#rows"):  # the interface is closing
            return
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
                self._put(tuple(panel.nothing()), None)
            return
        await asyncio.sleep(_REST_SECONDS)
        await self._put_preview(panel, row, whole=self._history)
        if panel.slow:
            await asyncio.sleep(_LONG_REST_SECONDS)
            await self._put_preview(panel, row, whole=True)

    async def _put_preview(self, panel: panels.Panel, row: ListRow, *, whole: bool) -> None:
        try:
            parts = await self._reader.ask(lambda view: tuple(panel.preview(view, row, whole=whole)))
        except EngramError as exc:  # it was deleted meanwhile
            parts = ((person_text(exc), ""),)
        self._put(parts, row)

    def _put(self, parts: Sequence[Part], row: ListRow | None) -> None:
        """Show a preview; where it is the same row's as before, the reader stays at the line they are at."""
        key = (self.panel.name, None if row is None else row.key)
        if (key, parts) == self._shown or not self.query("#side"):  # the interface is closing
            return
        if key != self._shown[0]:
            self.side.scroll_home(animate=False)
        self._shown = (key, parts)
        self.query_one("#preview", Static).update(rendered(parts))

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
        if isinstance(self.panel, panels.MemoryPanel) and typed:
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

    async def action_read(self) -> None:
        """Give the preview the whole width; of a project show its memories."""
        value = self._value
        if not isinstance(value, ProjectLine):
            await super().action_read()
            return
        self._reader.project = value.name
        await self.action_panel(0)

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

    async def _change(self, work: changes.Work, *, in_log: bool = True) -> None:
        done = await self._asked(self._reader.ask(lambda view: changes.recorded(view, work) if in_log else work(view)))
        if done is not None:
            await self._finish(done)

    async def _change_by(self, work: Callable[[changes.View], object], *, in_log: bool = True) -> None:
        """Change what one call of a service does, and say what it returns."""
        await self._change(lambda view: changes.done(work(view), view), in_log=in_log)

    def _ask(self, screen: ModalScreen[str | None], work: Callable[[changes.View, str], object]) -> None:
        """Ask for a text, and change by it; Esc changes nothing."""

        async def answered(answer: str | None) -> None:
            if answer is not None:
                await self._change_by(lambda view: work(view, answer))

        self.push_screen(screen, answered)

    async def _finish(self, done: changes.ChangeDone) -> None:
        if done.take_back is not None:
            self._done.append(done)
        self.say(f"{done.said}{'. u: undo' if done.take_back else ''}")
        await self._show_rows(keep=True)

    @property
    def _value(self) -> Any:
        """The value of the row under the cursor, of Review what waits."""
        row = self.rows.row
        value = row.value if row is not None else None
        return value[1] if isinstance(self.panel, panels.ReviewPanel) and value is not None else value

    def _here(self) -> int | None:
        """Return the memory under the cursor."""
        row = self.rows.row
        found = self.panel.observation(row) if row is not None else None
        if found is None:
            self.say("Select a memory first.")
        return found

    async def _change_here(self, change: Callable[[changes.View, int], changes.ChangeDone]) -> None:
        if (here := self._here()) is not None:
            await self._change(lambda view: change(view, here))

    async def action_delete(self) -> None:
        value = self._value
        if isinstance(value, GuardLine):
            await self._change(lambda view: changes.remove_guard(view, value))
        else:
            await self._change_here(changes.delete)

    async def action_pin(self) -> None:
        await self._change_here(changes.pin)

    async def action_archive(self) -> None:
        await self._change_here(changes.archive)

    async def action_undo(self) -> None:
        if not self._done:
            self.say("There is no change to undo")
            return
        back = self._done.pop().take_back
        assert back is not None
        await self._change_by(lambda view: back(view.app), in_log=False)

    async def action_accept(self) -> None:
        row, value = self.rows.row, self._value
        if isinstance(value, Relation):
            self.say("v: choose how the two relate")
            return
        head = row.head if row is not None else ""
        await self._change_here(lambda view, here: changes.accept(view, here, head))

    async def action_decline(self) -> None:
        row = self.rows.row
        if row is None or row.head not in ("rule", "offered"):
            self.say("Select a suggested guard first.")
            return
        await self._change_here(changes.decline)

    async def action_off(self) -> None:
        value = self._value
        if isinstance(value, GuardLine):
            await self._change(lambda view: changes.silence(view, value))
        else:
            self.say("Select a guard first.")

    async def action_run(self) -> None:
        row, value = self.rows.row, self._value
        if not isinstance(self.panel, panels.UpkeepPanel):
            await self._choose_version()
        elif row is not None and row.head == "run":
            self.say(f"Running: {row.label} …")
            await self._change_by(lambda view: changes.RUNS[value][1](view.app), in_log=False)
        elif row is not None and row.head == "switch":
            await self._change(lambda view: changes.turn(view, value), in_log=False)

    async def _choose_version(self) -> None:
        here = self._here()
        found = await self._asked(self._reader.ask(lambda view: changes.versions(view, here or 0))) if here else None
        if not found:
            self.say("It has no earlier text" if here else "Select a memory first.")
            return
        options = [(str(one.version), f"version {one.version}: {one.title}") for one in found]
        self._ask(
            ChoiceScreen("Restore which text?", options),
            lambda view, version: view.app.observations.revert(here or 0, int(version)),
        )

    async def action_merge(self) -> None:
        value = self._value
        if isinstance(value, ProjectLine):
            await self._merge_project(value.name)
            return
        here = self._here()
        if here is None:
            return

        async def typed(number: str | None) -> None:
            if number is not None and number.removeprefix("#").isdecimal():
                await self._change(lambda view: changes.merge(view, here, int(number.removeprefix("#"))))
            elif number is not None:
                self.say("Enter a memory number, such as 12.")

        self.push_screen(AskScreen("Replace by which memory? Its number:"), typed)

    async def _merge_project(self, name: str) -> None:
        async def chosen(into: str | None) -> None:
            if into is None:
                return

            async def sure(answer: str | None) -> None:
                if answer:
                    await self._change_by(lambda view: view.app.merging.merge([name], into), in_log=False)

            asked = f"Merge {name} into {into}? This cannot be undone."
            self.push_screen(ChoiceScreen(asked, [("", "leave them"), ("yes", "merge them")]), sure)

        await self._ask_project(f"Merge {name} into", but=name, chosen=chosen)

    async def action_move_to(self) -> None:
        here = self._here()
        if here is None:
            return

        async def chosen(name: str | None) -> None:
            if name is not None:
                await self._change(lambda view: changes.move(view, here, name))

        await self._ask_project(f"Move #{here} to", but="", chosen=chosen)

    async def _ask_project(self, question: str, *, but: str, chosen: Callable[[str | None], Awaitable[None]]) -> None:
        found = await self._asked(self._reader.ask(lambda view: view.app.projects.list())) or ()
        options = [(one.name, one.name) for one in found if one.name != but]
        if options:
            self.push_screen(ChoiceScreen(question, options), chosen)
        else:
            self.say("There is no other project")

    async def action_new(self) -> None:
        if isinstance(self.panel, panels.UpkeepPanel):
            self._ask(AskScreen("A fact or preference about you (every context starts with it):"), changes.state)
            return
        place = await self._asked(self._reader.ask(lambda view: view.app.projects.for_write(view.project)))
        if place is not None:
            base = changes.blank(place.project)
            await self._edit(base, lambda view, change: changes.save(view, base, change))

    def action_verdict(self) -> None:
        pair = self._value
        if not isinstance(pair, Relation):
            return
        relation = pair.sync_id
        options = [(verb, verb.replace("_", " ")) for verb in VERBS]
        self._ask(
            ChoiceScreen("The first memory … the second", options),
            lambda view, verdict: view.app.relations.judge(relation, verdict),
        )

    async def action_edit(self) -> None:
        here = self._here()
        if here is None:
            return
        base = await self._asked(self._reader.ask(lambda view: live_observation(view.app.store, here)))
        if base is not None:
            await self._edit(
                base, lambda view, change: view.app.observations.update(base.id, change, base=base, by="person")
            )

    async def _edit(self, base: Observation, work: Callable[[changes.View, Change], object]) -> None:
        def keep(change: Any) -> changes.ChangeDone:
            return self._reader.ask_here(
                lambda view: changes.recorded(view, lambda view: changes.done(work(view, change), view))
            )

        try:
            with self._given_away():
                done = edit_in_editor(base, self._data_dir, keep)
        except (EngramError, click.ClickException, OSError, UnicodeDecodeError) as exc:
            said = person_text(exc) if isinstance(exc, EngramError) else getattr(exc, "message", str(exc))
            self.say("; ".join([said, *getattr(exc, "__notes__", ())]))
            return
        await self._finish(done)

    def _given_away(self) -> contextlib.AbstractContextManager[None]:
        """Give the terminal to another program for a while, where there is one to give."""
        return self.suspend() if self._driver is not None and self._driver.can_suspend else contextlib.nullcontext()

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < STACKED_BELOW, "narrow")
        self._show_head()
