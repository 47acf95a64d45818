"""The lists, and what is shown beside each: memories, sessions, the hits of a search with why they were found, what
waits for review, guards and fixes with what came of them, projects, and upkeep.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, cast

from engram_py.guidance.failures.fixes import FixLine
from engram_py.interfaces.screen_values import FailedSession, Waiting, called, review, session_names
from engram_py.interfaces.tui import previews
from engram_py.interfaces.tui.changes import RUNS, View
from engram_py.interfaces.tui.navigation import PAGE, ListRow, Part, shown_line
from engram_py.interfaces.wording.phrases import age, amount
from engram_py.memory.identity.table import Statement
from engram_py.memory.projects.values import ProjectLine
from engram_py.memory.relations.values import Relation
from engram_py.recall.values import Results

_HITS = 20


class Panel(Protocol):
    """A list with a preview. ``asks`` says what may be typed after ``/``, ``keys`` what else is done here.

    ``slow``: a preview has a longer form.
    """

    name: str
    asks: str
    keys: str
    slow: bool = False
    typed: str = ""

    def rows(self, view: View, offset: int) -> list[ListRow]:
        """Return the rows from a place on, at most a page. Raises EngramError."""

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        """Return what is shown beside the list for a row. Raises EngramError."""

    def nothing(self) -> Iterable[Part]:
        """Return what is shown beside an empty list."""

    def observation(self, row: ListRow) -> int | None:
        """Return the memory that a row is about."""
        return None


class MemoryPanel(Panel):
    """Lists the memories, latest change first; filters narrow it."""

    name = "Memories"
    asks = "filters: type:decision since:7d is:pinned; or words to search for"
    keys = "/ filter  Enter read  n new  e edit  d delete  u undo"

    def rows(self, view: View, offset: int) -> list[ListRow]:
        found = view.app.bulk.listed(self.typed, **view.place, limit=PAGE, offset=offset).items
        summaries = view.app.browsing.whole([one.id for one in found if one.type == "session_summary"])
        names = {row.id: called(row) for row in summaries}
        labels = {one.id: ("pinned: " if one.pinned else "") + names.get(one.id, one.title) for one in found}
        return [
            ListRow(one.id, f"#{one.id}", labels[one.id], _when(one.updated_at, one.project, view), one, one.type)
            for one in found
        ]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        return previews.memory(view, row.value.id, history=whole)

    def nothing(self) -> Iterable[Part]:
        if self.typed:
            return [("No memory passes these filters.\n", ""), ("/ and Enter on an empty line shows all.", "dim")]
        return [
            ("No memory is saved here yet.\n\n", "bold"),
            ("Agents save memories as they work; `engram save` saves one by hand. ", ""),
            ("`engram setup` connects your agents. p: choose another project.", ""),
        ]

    def observation(self, row: ListRow) -> int | None:
        return int(row.value.id)


def _when(moment: str, project: str, view: View) -> str:
    """Return the age; before it the project, where there are several."""
    when = age(moment, view.now)
    return when if view.project else f"{shown_line(project, 12)} {when:>3}"


class SessionPanel(Panel):
    """Lists the sessions of agents, the most recently active first; a text narrows it to those that contain it."""

    name, slow = "Sessions", True
    asks = "words of the agent, the project, the id or the summary"
    keys = "/ filter  Enter read"

    def rows(self, view: View, offset: int) -> list[ListRow]:
        found = view.app.sessions.page(**view.place, containing=self.typed, limit=PAGE, offset=offset)
        names = session_names(view.app, found)
        return [
            ListRow(one.id, one.agent or "other", names[one.id], _when(one.last_activity_at, one.project, view), one)
            for one in found
        ]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        return previews.session(view, row.value.id, whole=whole)

    def nothing(self) -> Iterable[Part]:
        return [("No session contains this." if self.typed else "No session yet.", "")]


class SearchPanel(Panel):
    """The answer of ``mem_search`` with every number behind it."""

    name = "Search"
    asks = "words, a question, a topic key or #id; filters as type:decision"
    keys = "/ search  Enter read  e edit  d delete  u undo"

    _found: Results | None = None

    def rows(self, view: View, offset: int) -> list[ListRow]:
        if not self.typed or offset:
            self._found = self._found if self.typed else None
            return []
        self._found = found = view.app.searches.search(
            self.typed, **view.place, limit=_HITS, explain=True, recorded=False
        )
        return [
            ListRow(one.id, f"#{one.id}", one.goal or one.title, f"{one.score:.2f}", one, one.type)
            for one in found.results
        ]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        assert self._found is not None
        return previews.hit(view, self._found, row.value)

    def nothing(self) -> Iterable[Part]:
        if self._found is not None:
            return previews.how(self._found)
        return [("Press / and type a question.\n", ""), ("Each hit shows why it was found.", "dim")]

    def observation(self, row: ListRow) -> int | None:
        return cast("int | None", row.value.id)


class ReviewPanel(Panel):
    """Lists what waits for a person's review; words narrow it to what contains them."""

    name, asks = "Review", "words of the title"
    keys = "a accept  c decline  v verdict  e edit  d delete  u undo"

    def rows(self, view: View, offset: int) -> list[ListRow]:
        if offset:
            return []
        found = review(view.app, view.project)
        rows = [
            ListRow(one.sync_id, "pair", f"{one.source_title} / {one.target_title}", "", (previews.pair, one))
            for one in found.pairs
        ]
        kinds = {
            "two edits": (previews.UNTAKEN, found.untaken),
            "hand edit": (previews.EDITED, found.edited),
            "order": (previews.ORDER, found.orders),
            "unchecked": (previews.UNCHECKED, found.unchecked),
            "derived": (previews.DERIVED, found.derived),
            "overdue": (previews.DUE, found.due),
            "changed": (previews.STALE, found.stale),
            "rule": (previews.OFFERED, found.offered),
        }
        for head, (kind, items) in kinds.items():
            rows += [
                ListRow((head, row.id), head, called(row), age(row.updated_at, view.now), (kind, one), row.type)
                for one in items
                for row in [one.row]
            ]
        rows += [ListRow(("failed", one.id), "failed", one.id, "", ("", one)) for one in found.failed]
        return [row for row in rows if self.typed.lower() in f"{row.head} {row.label}".lower()][:PAGE]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        kind, one = row.value
        match one:
            case Relation():
                return previews.pair(view, one)
            case Waiting():
                return previews.waiting(view, kind, one)
            case FailedSession():
                return previews.failed(one)
        raise TypeError(type(one).__name__)

    def nothing(self) -> Iterable[Part]:
        if self.typed:
            return [("Nothing to review has these words.", "")]
        return [
            ("Nothing to review.\n\n", "bold"),
            ("This list shows pairs that may contradict, derived memories, instructions to agents, memories ", ""),
            ("that are overdue or whose files changed, and sessions whose summary failed.", ""),
        ]

    def observation(self, row: ListRow) -> int | None:
        one = row.value[1]
        return one.row.id if isinstance(one, Waiting) else None


class GuardPanel(Panel):
    """Lists guards with what came of them, those that are offered, and the fixes that were kept."""

    name, asks = "Guards", "words of the title"
    keys = "a accept  c decline  o off  d remove  u undo"

    def rows(self, view: View, offset: int) -> list[ListRow]:
        if offset:
            return []
        rows = [
            ListRow(
                (one.id, one.number), "guard", one.title, f"{amount(one.fired, 'warning')}, {one.heeded:,} heeded", one
            )
            for one in view.app.guards.listed(**view.place)
        ]
        rows += [
            ListRow(("offered", one.id), "offered", one.title, "", one) for one in view.app.guards.offered(**view.place)
        ]
        rows += [
            ListRow(("fix", one.id), "fix", one.title, f"fixed {sum(each.times for each in one.remedies):,}×", one)
            for one in view.app.failures.fixes(**view.place, limit=PAGE)
        ]
        return [row for row in rows if self.typed.lower() in row.label.lower()]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        if isinstance(row.value, FixLine):
            return previews.fix(view, row.value)
        return previews.guard(view, row.value)

    def nothing(self) -> Iterable[Part]:
        return [
            ("No guard and no fix yet.\n\n", "bold"),
            (
                "A guard warns an agent before it breaks a decision: `engram guard add`. A fix is kept when a failed ",
                "",
            ),
            ("failed command passes after a change.", ""),
        ]

    def observation(self, row: ListRow) -> int | None:
        return int(row.value.id)


class ProjectPanel(Panel):
    """Lists the projects, the most recently active first."""

    name, asks = "Projects", "words of the name"
    keys = "Enter its memories  m merge"

    def rows(self, view: View, offset: int) -> list[ListRow]:
        found = [one for one in view.app.projects.list() if self.typed.lower() in one.name.lower()]
        return [
            ListRow(
                one.name,
                "",
                f"{one.name}, also {', '.join(one.aliases)}" if one.aliases else one.name,
                f"{amount(one.observations, 'memory'):>14} {age(one.last_activity_at, view.now):>4}",
                one,
            )
            for one in found[offset : offset + PAGE]
        ]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        one: ProjectLine = row.value
        counted = [amount(one.observations, "memory"), amount(one.sessions, "session"), amount(one.prompts, "prompt")]
        return [
            (f"{one.name}\n", previews.HEADING),
            (f"{' · '.join(counted)}\n", ""),
            (f"last active {age(one.last_activity_at, view.now)}\n" if one.last_activity_at else "", previews.FAINT),
            (f"\nOther names: {', '.join(one.aliases)}\n" if one.aliases else "", ""),
            ("\nm: merge it into another project; its name keeps working.", previews.FAINT),
        ]

    def nothing(self) -> Iterable[Part]:
        return [("No project has these words." if self.typed else "No project yet.", "")]


_SWITCHES = {
    "enabled": "Hooks",
    "record": "Keep prompts, messages and learnings",
    "inject": "Give memories to agents",
}


class UpkeepPanel(Panel):
    """Lists what can be run now, the switches of the hooks, and what holds of the person always."""

    name, asks = "Upkeep", "words"
    keys = "r run or switch  n new statement  d remove  u undo"

    def rows(self, view: View, offset: int) -> list[ListRow]:
        if offset:
            return []
        server = view.app.autosync.status().server
        runs = [ListRow(key, "run", label, "", key) for key, (label, _) in RUNS.items() if key != "sync" or server]
        allowed = view.app.switches.allowed(view.project or "")
        switches = [
            ListRow(key, "switch", label, "on" if getattr(allowed, key) else "off", key)
            for key, label in _SWITCHES.items()
        ]
        said = view.app.identity.listed(project=view.project).items
        mine = [ListRow(one.id, "you", one.text, age(one.said_at, view.now), one) for one in said]
        return [row for row in runs + switches + mine if self.typed.lower() in row.label.lower()]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        if isinstance(row.value, Statement):
            return previews.memory(view, row.value.id)
        return previews.upkeep(view, row)

    def nothing(self) -> Iterable[Part]:
        return [("Nothing has these words.", "")]

    def observation(self, row: ListRow) -> int | None:
        return row.value.id if isinstance(row.value, Statement) else None
