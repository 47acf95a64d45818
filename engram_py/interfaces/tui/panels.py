"""The four lists: memories, sessions, the hits of a search, what waits for review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from engram_py.interfaces.tui import previews
from engram_py.interfaces.tui.reading import View
from engram_py.interfaces.tui.rows import PAGE, Row
from engram_py.interfaces.tui.text import Part, one_line
from engram_py.interfaces.waiting import FailedSession, Waiting, review
from engram_py.interfaces.wording.phrases import age
from engram_py.interfaces.wording.search import named
from engram_py.observations.listing import ObservationLine
from engram_py.recall.values import Hit, Results
from engram_py.relations.values import Relation
from engram_py.sessions.summary_steps import gist, goal
from engram_py.sessions.values import SessionLine

_HITS = 20


class Panel(Protocol):
    """A list with a preview. ``asks`` says what may be typed after ``/``, ``keys`` what else is done here.

    ``slow``: a preview has a longer form.
    """

    name: str
    asks: str
    keys: str
    slow: bool
    typed: str

    def rows(self, view: View, offset: int) -> list[Row]:
        """Return the rows from a place on, at most a page. Raises EngramError."""

    def preview(self, view: View, row: Row, *, whole: bool) -> Iterable[Part]:
        """Return what is shown beside the list for a row. Raises EngramError."""

    def nothing(self) -> Iterable[Part]:
        """Return what is shown beside an empty list."""

    def observation(self, row: Row) -> int | None:
        """Return the memory that a row is about."""


class MemoryPanel:
    """What is kept, latest change first; filters narrow it."""

    name, slow = "Memories", False
    asks = "filters: type:decision since:7d is:pinned; or words to search for"
    keys = "/ filter  Enter read  e edit  d delete  u undo"

    def __init__(self) -> None:
        self.typed = ""

    def rows(self, view: View, offset: int) -> list[Row]:
        found = view.app.observations.listed(self.typed, **view.place, limit=PAGE, offset=offset)
        return [_memory_row(one, view) for one in found.items]

    def preview(self, view: View, row: Row, *, whole: bool) -> Iterable[Part]:
        return previews.memory(view, row.value.id, history=whole)

    def nothing(self) -> Iterable[Part]:
        if self.typed:
            return [("No memory passes these filters.\n", ""), ("/ and Enter on an empty line shows all.", "dim")]
        return [
            ("Nothing is kept here yet.\n\n", "bold"),
            ("An agent with engram saves as it works; `engram save` does it by hand. ", ""),
            ("`engram setup` connects your agents. p shows another project.", ""),
        ]

    def observation(self, row: Row) -> int | None:
        return int(row.value.id)


def _memory_row(one: ObservationLine, view: View) -> Row:
    pinned = "pinned " if one.pinned else ""
    return Row(one.id, f"#{one.id}", one.title, f"{pinned}{_when(one.updated_at, one.project, view)}", one)


def _when(moment: str, project: str, view: View) -> str:
    """Return the age; before it the project, where there are several."""
    return f"{one_line(project, 12)} {age(moment, view.now)}" if view.project is None else age(moment, view.now)


class SessionPanel:
    """What agents did, the most recently active session first; a text narrows it to those that contain it."""

    name, slow = "Sessions", True
    asks = "words of the agent, the project, the id or the summary"
    keys = "/ filter  Enter read"

    def __init__(self) -> None:
        self.typed = ""

    def rows(self, view: View, offset: int) -> list[Row]:
        found = view.app.sessions.page(**view.place, containing=self.typed, limit=PAGE, offset=offset)
        return [_session_row(one, view) for one in found]

    def preview(self, view: View, row: Row, *, whole: bool) -> Iterable[Part]:
        return previews.session(view, row.value.id, whole=whole)

    def nothing(self) -> Iterable[Part]:
        return [("No session contains this." if self.typed else "No session yet.", "")]

    def observation(self, row: Row) -> int | None:
        return None


def _session_row(one: SessionLine, view: View) -> Row:
    summary = one.summary or ""
    label = goal(summary) or gist(summary) or summary or f"{one.observations} saved, no summary"
    return Row(one.id, one.agent or "?", label, _when(one.last_activity_at, one.project, view), one)


class SearchPanel:
    """The answer of ``mem_search`` with every number behind it."""

    name, slow = "Search", False
    asks = "words, a question, a topic key or #id; filters as type:decision"
    keys = "/ search  Enter read  e edit  d delete  u undo"

    def __init__(self) -> None:
        self.typed = ""
        self._found: Results | None = None

    def rows(self, view: View, offset: int) -> list[Row]:
        if not self.typed or offset:
            self._found = None if not self.typed else self._found
            return []
        self._found = found = view.app.searches.search(
            self.typed, **view.place, limit=_HITS, explain=True, recorded=False
        )
        likely = {one.id: f"{one.probability:.0%}" for one in found.explain.hits} if found.explain else {}
        return [Row(one.id, f"#{one.id}", named(one), likely.get(one.id, ""), one) for one in found.results]

    def preview(self, view: View, row: Row, *, whole: bool) -> Iterable[Part]:
        assert self._found is not None
        return previews.hit(view, self._found, row.value)

    def nothing(self) -> Iterable[Part]:
        if self._found is not None:
            return previews.how(self._found)
        return [("Press / and type a question, as an agent would.\n", ""), ("Each hit says why it was found.", "dim")]

    def observation(self, row: Row) -> int | None:
        hit: Hit = row.value
        return hit.id


class ReviewPanel:
    """What waits for a person; words narrow it to what contains them."""

    name, asks, slow = "Review", "words of the title", False
    keys = "a accept  v verdict  e edit  d delete  u undo"

    def __init__(self) -> None:
        self.typed = ""

    def rows(self, view: View, offset: int) -> list[Row]:
        if offset:
            return []
        found = review(view.app, view.project)
        rows = [
            Row(one.sync_id, "pair", f"{one.source_title} / {one.target_title}", "", (previews.pair, one))
            for one in found.pairs
        ]
        kinds = {
            "order": (previews.ORDER, found.orders),
            "unchecked": (previews.UNCHECKED, found.unchecked),
            "derived": (previews.DERIVED, found.derived),
            "overdue": (previews.DUE, found.due),
            "changed": (previews.STALE, found.stale),
        }
        for head, (kind, items) in kinds.items():
            rows += [Row((head, one.row.id), head, one.row.title, "", (kind, one)) for one in items]
        rows += [Row(("failed", one.id), "failed", one.id, "", ("", one)) for one in found.failed]
        return [row for row in rows if self.typed.lower() in f"{row.head} {row.label}".lower()][:PAGE]

    def preview(self, view: View, row: Row, *, whole: bool) -> Iterable[Part]:
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
            return [("Nothing that waits contains this.", "")]
        return [
            ("Nothing waits for you.\n\n", "bold"),
            (
                "Here is what needs a person: pairs that may contradict each other, what was derived or reads like an ",
                "",
            ),
            ("order, memories that are overdue or whose files changed, sessions that a distiller failed on.", ""),
        ]

    def observation(self, row: Row) -> int | None:
        one = row.value[1]
        return one.row.id if isinstance(one, Waiting) else None
