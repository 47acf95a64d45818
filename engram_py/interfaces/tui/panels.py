"""The four lists (memories, sessions, the hits of a search, what waits for review), read on a worker thread, and what
is shown beside each: a memory whole, why a hit was found, what a session was given, what waits and why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.interfaces.cli.commands import local_now
from engram_py.interfaces.screen_values import (
    EXPLAINED,
    AskedPrompt,
    FailedSession,
    Waiting,
    review,
    session_given,
    session_names,
    start_text,
)
from engram_py.interfaces.tui.navigation import PAGE, ListRow, Part, shown_line
from engram_py.interfaces.wording import render, search
from engram_py.interfaces.wording.context import nearly
from engram_py.interfaces.wording.phrases import age, amount, one_line
from engram_py.interfaces.wording.reasons import spelled
from engram_py.interfaces.wording.search import named
from engram_py.ledger.citations import Given, sessions_given
from engram_py.observations.listing import ObservationLine
from engram_py.recall.values import Hit, Results
from engram_py.relations.values import VERBS, Relation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """The source of a list or a preview: the memory, the time, and the project it is narrowed to, None for all."""

    app: Engram
    now: datetime
    project: str | None

    @property
    def place(self) -> dict[str, Any]:
        """The project, as most services take it."""
        return {"project": self.project, "all_projects": self.project is None}


class Reader:
    """Runs calls of services in threads, so that keys are answered meanwhile.

    Reading counts nothing as shown and teaches no search, as on the page: each call has a view of its own.
    """

    def __init__(self, app: Engram, project: str | None) -> None:
        self._app = app
        self.project = project

    async def ask(self, work: Callable[[View], T]) -> T:
        """Return what ``work`` makes of the memory. Raises what it raises."""
        return await asyncio.to_thread(self.ask_here, work)

    def ask_here(self, work: Callable[[View], T]) -> T:
        """Do the same in this thread."""
        app = self._app.for_caller(None)
        with app.usage.paused():
            return work(View(app, local_now(app.settings), self.project))

    async def version(self) -> object:
        """Return what is another value after every write of any process."""
        return await asyncio.to_thread(self._app.store.version)


_HEADING, _FAINT = "bold", "dim"
_SESSIONS, _PROMPT_CHARS, _PROMPTS, _TITLE_CHARS = 20, 600, 50, 100


def memory(view: View, observation_id: int, *, history: bool = False) -> Iterator[Part]:
    """Yield an observation in the words of ``engram get``, and the sessions that were given it."""
    detail = view.app.observations.get(observation_id, history=history)
    title, about, *rest = render.text(detail, now=view.now, door="cli", full=True).split("\n")
    yield f"{title}\n", _HEADING
    yield f"{about}\n", _FAINT
    yield "\n".join(rest), ""
    if given := sessions_given(view.app.store, observation_id, limit=_SESSIONS):
        yield "\n\nSessions that were given it\n", _HEADING
    for one in given:
        cited = " · cited" if one.cited else ""
        how = f" · given: {one.surfaces.replace(',', ', ')}" if one.surfaces else ""
        yield f"{one.agent or 'session'} {one.id[:24]} · {age(one.started_at, view.now)}{how}{cited}\n", ""


def hit(view: View, found: Results, one: Hit) -> Iterator[Part]:
    """Yield why a hit is there, in the words of ``engram search --explain``, and then the memory itself."""
    about = [one.type, age(one.updated_at, view.now), one.project, *search.marks(one)]
    yield f"[#{one.id}] {search.named(one)}\n", _HEADING
    yield f"({' · '.join(about)})\n", _FAINT
    if one.snippet:
        yield f"\n{one.snippet}\n", ""
    numbers = next((row for row in found.explain.hits if row.id == one.id), None) if found.explain else None
    if numbers is not None:
        yield "\nWhy this\n", _HEADING
        yield f"words it has: {', '.join(numbers.words) or 'none'}\n", ""
        place = [row.id for row in found.explain.hits].index(one.id) if found.explain else 0
        hits = search.sections(found)[0]
        for name, value in list(zip(hits.columns, hits.rows[place], strict=True))[1:-1]:
            yield f"{name:>10}  ", _FAINT
            yield f"{value}\n", ""
        yield f"{hits.legend}\n", _FAINT
    yield "\nHow the search went\n", _HEADING
    yield from how(found)
    yield "\n", ""
    yield "The memory\n", _HEADING
    yield from memory(view, one.id)


def how(found: Results) -> Iterator[Part]:
    """Yield the steps of a search and the words of its query."""
    yield "\n".join([*search.head(found, "cli"), *search.unknown_words(found)]) + "\n", ""
    for section in search.sections(found)[1 if found.results else 0 :]:
        yield f"{section.title}: {section.legend}\n", _FAINT
        for row in section.rows:
            yield f"  {row[0]}: ", _HEADING
            named = zip(section.columns[1:-1], row[1:-1], strict=True)
            yield f"{', '.join(f'{name} {value}' for name, value in named)}; {row[-1]}\n", ""
    if found.explain:
        yield f"{search.foot(found.explain)}\n", _FAINT
    for note in found.warnings:
        yield f"note: {spelled(note, 'cli')}\n", ""


def session(view: View, session_id: str, *, whole: bool) -> Iterator[Part]:
    """Yield what my agent got; ``whole`` with what takes longer: why prompts were given nothing, and the start text."""
    found = session_given(view.app, session_id, explained=EXPLAINED if whole else 0)
    one = found.session
    ended = f"ended {age(one.ended_at, view.now)}" if one.ended_at else "open"
    tokens = amount((found.counts.bytes + 3) // 4, "token")
    yield f"{session_names(view.app, [one])[one.id]}\n", _HEADING
    yield f"{one.agent or 'session'} {one.id}\n", _FAINT
    yield f"{one.project} · started {age(one.started_at, view.now)}, {ended}\n", _FAINT
    yield f"given {found.counts.given}, cited {found.counts.cited} · {tokens}\n", _FAINT
    if one.summary:
        yield f"\n{one.summary}\n", ""
    if not found.sections:
        yield "\nThe session was given nothing at its start; what its prompts were given stands below.\n", ""
    for title, rows in found.sections.items():
        yield f"\n{title}\n", _HEADING
        yield from _given(rows)
    yield "\nPrompts\n", _HEADING
    prompts = found.prompts[-_PROMPTS:]
    if earlier := found.earlier + len(found.prompts) - len(prompts):
        yield f"{amount(earlier, 'earlier one')} not shown here.\n", _FAINT
    if not prompts:
        yield "None were recorded.\n", ""
    yield from _prompts(view, prompts)
    if found.cost.doors:
        yield "\nTokens\n", _HEADING
    for door in found.cost.doors:
        yield f"{door.door} {door.name}: {amount(door.calls, 'call')}, {amount(door.tokens, 'token')}\n", ""
    if whole:
        yield f"\nA session of {one.project} that starts now begins with\n", _HEADING
        yield start_text(view.app, one.project) or "Nothing.", ""


def _prompts(view: View, prompts: Sequence[AskedPrompt]) -> Iterator[Part]:
    for asked in prompts:
        yield f"{age(asked.prompt.created_at, view.now):>4} ", _FAINT
        yield f"{one_line(asked.prompt.content, _PROMPT_CHARS)}\n", _HEADING
        yield from _given(asked.given)
        if not asked.given:
            yield f"  Given nothing.{f' Asked again now: {asked.why}.' if asked.why else ''}\n", ""
            if asked.words:
                yield f"  Words looked up: {asked.words}\n", _FAINT
            for near in nearly({"nearest": asked.nearest}):
                yield f"  Nearest: {near}\n", _FAINT


def _given(rows: Sequence[Given]) -> Iterator[Part]:
    for one in rows:
        about = [one.type, *([f"{one.times} times"] if one.times > 1 else []), *(["deleted"] if one.deleted else [])]
        yield f"  [#{one.id}] {one_line(one.title, _TITLE_CHARS)} ({', '.join(about)})", ""
        yield " cited\n" if one.cited else "\n", _HEADING


def waiting(view: View, kind: str, one: Waiting) -> Iterator[Part]:
    """Yield a memory that waits for a person."""
    yield f"{kind}{f': {one.why}' if one.why else ''}\n", _HEADING
    yield f"{_DO[kind]}\n\n", _FAINT
    yield from memory(view, one.row.id)


ORDER, DERIVED, DUE, STALE = "Instructions to agents", "Derived, not confirmed", "Overdue for review", "Changed files"
UNCHECKED, OFFERED = "From elsewhere, not checked", "Rules that can speak before they are broken"
_DO = {
    ORDER: "It tells an agent what to do. Agents get it only after you accept it. a accepts it, d deletes it",
    UNCHECKED: "Somebody else wrote it. Agents see it apart and only in its project. a makes it yours, d deletes it",
    DERIVED: "It was distilled from a session. It fades unless it is accepted or used. a accepts it, d deletes it",
    DUE: "a confirms that it still holds, e edits it, d deletes it",
    STALE: "a confirms that it still holds, e edits it, d deletes it",
    OFFERED: "a lets it speak before an agent breaks it; `engram guard decline` never offers it again",
}


def pair(view: View, one: Relation) -> Iterator[Part]:
    """Two memories that may contradict each other."""
    yield "Possible contradiction\n", _HEADING
    yield f"v says how they relate: {', '.join(verb.replace('_', ' ') for verb in VERBS)}\n", _FAINT
    for end in (one.source_observation, one.target_observation):
        yield "\n", ""
        if end is None:
            yield "A deleted memory.\n", _FAINT
        else:
            yield from memory(view, end)
            yield "\n", ""


def failed(one: FailedSession) -> Iterator[Part]:
    """Yield a session that a distiller failed on."""
    yield f"Session {one.id}\n", _HEADING
    yield f"{one.project}{' · given up' if one.state == 'dead' else ''}\n\n", _FAINT
    yield f"{one.detail}\n\n`engram flush {one.id}` tries again.", ""


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

    def rows(self, view: View, offset: int) -> list[ListRow]:
        """Return the rows from a place on, at most a page. Raises EngramError."""

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        """Return what is shown beside the list for a row. Raises EngramError."""

    def nothing(self) -> Iterable[Part]:
        """Return what is shown beside an empty list."""

    def observation(self, row: ListRow) -> int | None:
        """Return the memory that a row is about."""


class MemoryPanel:
    """Lists the memories, latest change first; filters narrow it."""

    name, slow = "Memories", False
    asks = "filters: type:decision since:7d is:pinned; or words to search for"
    keys = "/ filter  Enter read  e edit  d delete  u undo"

    def __init__(self) -> None:
        self.typed = ""

    def rows(self, view: View, offset: int) -> list[ListRow]:
        found = view.app.bulk.listed(self.typed, **view.place, limit=PAGE, offset=offset)
        return [_memory_row(one, view) for one in found.items]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        return memory(view, row.value.id, history=whole)

    def nothing(self) -> Iterable[Part]:
        if self.typed:
            return [("No memory passes these filters.\n", ""), ("/ and Enter on an empty line shows all.", "dim")]
        return [
            ("Nothing is kept here yet.\n\n", "bold"),
            ("An agent with engram saves as it works; `engram save` does it by hand. ", ""),
            ("`engram setup` connects your agents. p shows another project.", ""),
        ]

    def observation(self, row: ListRow) -> int | None:
        return int(row.value.id)


def _memory_row(one: ObservationLine, view: View) -> ListRow:
    pinned = "pinned " if one.pinned else ""
    return ListRow(one.id, f"#{one.id}", one.title, f"{pinned}{_when(one.updated_at, one.project, view)}", one)


def _when(moment: str, project: str, view: View) -> str:
    """Return the age; before it the project, where there are several."""
    return f"{shown_line(project, 12)} {age(moment, view.now)}" if view.project is None else age(moment, view.now)


class SessionPanel:
    """Lists the sessions of agents, the most recently active first; a text narrows it to those that contain it."""

    name, slow = "Sessions", True
    asks = "words of the agent, the project, the id or the summary"
    keys = "/ filter  Enter read"

    def __init__(self) -> None:
        self.typed = ""

    def rows(self, view: View, offset: int) -> list[ListRow]:
        found = view.app.sessions.page(**view.place, containing=self.typed, limit=PAGE, offset=offset)
        names = session_names(view.app, found)
        return [
            ListRow(one.id, one.agent or "?", names[one.id], _when(one.last_activity_at, one.project, view), one)
            for one in found
        ]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        return session(view, row.value.id, whole=whole)

    def nothing(self) -> Iterable[Part]:
        return [("No session contains this." if self.typed else "No session yet.", "")]

    def observation(self, row: ListRow) -> int | None:
        return None


class SearchPanel:
    """The answer of ``mem_search`` with every number behind it."""

    name, slow = "Search", False
    asks = "words, a question, a topic key or #id; filters as type:decision"
    keys = "/ search  Enter read  e edit  d delete  u undo"

    def __init__(self) -> None:
        self.typed = ""
        self._found: Results | None = None

    def rows(self, view: View, offset: int) -> list[ListRow]:
        if not self.typed or offset:
            self._found = None if not self.typed else self._found
            return []
        self._found = found = view.app.searches.search(
            self.typed, **view.place, limit=_HITS, explain=True, recorded=False
        )
        likely = {one.id: f"{one.probability:.0%}" for one in found.explain.hits} if found.explain else {}
        return [ListRow(one.id, f"#{one.id}", named(one), likely.get(one.id, ""), one) for one in found.results]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        assert self._found is not None
        return hit(view, self._found, row.value)

    def nothing(self) -> Iterable[Part]:
        if self._found is not None:
            return how(self._found)
        return [("Press / and type a question, as an agent would.\n", ""), ("Each hit says why it was found.", "dim")]

    def observation(self, row: ListRow) -> int | None:
        hit: Hit = row.value
        return hit.id


class ReviewPanel:
    """Lists what waits for a person's review; words narrow it to what contains them."""

    name, asks, slow = "Review", "words of the title", False
    keys = "a accept  v verdict  e edit  d delete  u undo"

    def __init__(self) -> None:
        self.typed = ""

    def rows(self, view: View, offset: int) -> list[ListRow]:
        if offset:
            return []
        found = review(view.app, view.project)
        rows = [
            ListRow(one.sync_id, "pair", f"{one.source_title} / {one.target_title}", "", (pair, one))
            for one in found.pairs
        ]
        kinds = {
            "order": (ORDER, found.orders),
            "unchecked": (UNCHECKED, found.unchecked),
            "derived": (DERIVED, found.derived),
            "overdue": (DUE, found.due),
            "changed": (STALE, found.stale),
            "rule": (OFFERED, found.offered),
        }
        for head, (kind, items) in kinds.items():
            rows += [ListRow((head, one.row.id), head, one.row.title, "", (kind, one)) for one in items]
        rows += [ListRow(("failed", one.id), "failed", one.id, "", ("", one)) for one in found.failed]
        return [row for row in rows if self.typed.lower() in f"{row.head} {row.label}".lower()][:PAGE]

    def preview(self, view: View, row: ListRow, *, whole: bool) -> Iterable[Part]:
        kind, one = row.value
        match one:
            case Relation():
                return pair(view, one)
            case Waiting():
                return waiting(view, kind, one)
            case FailedSession():
                return failed(one)
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

    def observation(self, row: ListRow) -> int | None:
        one = row.value[1]
        return one.row.id if isinstance(one, Waiting) else None
