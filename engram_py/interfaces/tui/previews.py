"""What is shown beside a list: a memory whole, why a hit was found, what a session was given, what waits and why, a
guard with what came of it, and how upkeep fares; and the dialogs over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from engram_py.guidance.failures.fixes import FixLine
from engram_py.guidance.guards.values import GuardLine, Offered
from engram_py.interfaces import screen_values
from engram_py.interfaces.tui.changes import View
from engram_py.interfaces.tui.navigation import MARKDOWN, ListRow, Part, content, shown_line
from engram_py.interfaces.wording import render, search
from engram_py.interfaces.wording.acting import rule_and_use
from engram_py.interfaces.wording.context import nearly
from engram_py.interfaces.wording.phrases import age, amount, one_line
from engram_py.interfaces.wording.reasons import spelled
from engram_py.memory.relations.values import VERBS, Relation
from engram_py.memory.sessions.citations import Given, sessions_given
from engram_py.recall.values import Hit, Results

HEADING, FAINT = "bold", "dim"
_SESSIONS, _PROMPT_CHARS, _PROMPTS, _TITLE_CHARS, _RUNS = 20, 600, 50, 100, 10


_WAYS = {"session": "at the start", "prompt": "with a prompt", "file": "before a file was edited"}
_BY = {"agent": "by an agent", "user": "by you", "derived": "derived from a session", "import": "imported"}


def memory(view: View, observation_id: int, *, history: bool = False) -> Iterator[Part]:
    """Yield an observation in the words of ``engram get``, and the sessions that were given it."""
    detail = view.app.observations.get(observation_id, history=history)
    row = detail.observation
    text = render.text(detail, now=view.now, door="cli", full=True)
    head, _, rest = text.partition(f"\n\n{row.content}")
    title, about, *facts = head.split("\n")
    yield f"{title}\n", HEADING
    yield "\n".join([f"{about.removesuffix(')')} · {_BY.get(row.origin, row.origin)})", *facts, ""]) + "\n", FAINT
    yield row.content, MARKDOWN
    if rest:
        yield f"\n{rest.strip()}\n", ""
    if given := sessions_given(view.app.store, observation_id, limit=_SESSIONS):
        yield "\nSessions that got it\n", HEADING
        names = screen_values.session_names(view.app, [view.app.sessions.get(one.id) for one in given])
    for one in given:
        cited = " · cited" if one.cited else ""
        ways = [_WAYS.get(way, way) for way in one.surfaces.split(",") if way]
        how = f" · given {', '.join(ways)}" if ways else ""
        yield f"{one_line(names[one.id], _TITLE_CHARS)}\n", ""
        yield f"  {one.agent or 'session'} · {age(one.started_at, view.now)}{how}{cited}\n", FAINT


def hit(view: View, found: Results, one: Hit) -> Iterator[Part]:
    """Yield why a hit is there, in the words of ``engram search --explain``, and then the memory itself."""
    about = [one.type, age(one.updated_at, view.now), one.project, *search.marks(one)]
    yield f"[#{one.id}] {search.named(one)}\n", HEADING
    yield f"({' · '.join(about)})\n", FAINT
    if one.snippet:
        yield "\n", ""
        yield one.snippet, MARKDOWN
    numbers = next((row for row in found.explain.hits if row.id == one.id), None) if found.explain else None
    if numbers is not None:
        yield "\nWhy this\n", HEADING
        yield f"matched words: {', '.join(numbers.words) or 'none'}\n", ""
        place = [row.id for row in found.explain.hits].index(one.id) if found.explain else 0
        hits = search.sections(found)[0]
        for name, value in list(zip(hits.columns, hits.rows[place], strict=True))[1:-1]:
            yield f"{name:>10}  ", FAINT
            yield f"{value}\n", ""
        yield f"{hits.legend}\n", FAINT
    yield "\nHow the search went\n", HEADING
    yield from how(found)
    yield "\n", ""
    yield "The memory\n", HEADING
    yield from memory(view, one.id)


def how(found: Results) -> Iterator[Part]:
    """Yield the steps of a search and the words of its query."""
    yield "\n".join([*search.head(found, "cli"), *search.unknown_words(found)]) + "\n", ""
    for section in search.sections(found)[1 if found.results else 0 :]:
        yield f"{section.title}: {section.legend}\n", FAINT
        for row in section.rows:
            yield f"  {row[0]}: ", HEADING
            named = zip(section.columns[1:-1], row[1:-1], strict=True)
            yield f"{', '.join(f'{name} {value}' for name, value in named)}; {row[-1]}\n", ""
    if found.explain:
        yield f"{search.foot(found.explain)}\n", FAINT
    for note in found.warnings:
        yield f"note: {spelled(note, 'cli')}\n", ""


def session(view: View, session_id: str, *, whole: bool) -> Iterator[Part]:
    """Yield what my agent got; ``whole`` with what takes longer: why prompts were given nothing, and the start text."""
    found = screen_values.session_given(view.app, session_id, explained=screen_values.EXPLAINED if whole else 0)
    one = found.session
    ended = f"ended {age(one.ended_at, view.now)}" if one.ended_at else "open"
    tokens = amount((found.counts.bytes + 3) // 4, "token")
    yield f"{screen_values.session_names(view.app, [one])[one.id]}\n", HEADING
    yield f"{one.agent or 'session'} {one.id}\n", FAINT
    yield f"{one.project} · started {age(one.started_at, view.now)}, {ended}\n", FAINT
    yield f"given {found.counts.given}, cited {found.counts.cited} · {tokens}\n", FAINT
    if one.summary:
        yield "\n", ""
        yield one.summary, MARKDOWN
    if not found.sections:
        yield "\nThe session started without memories; the memories of its prompts are below.\n", ""
    for title, rows in found.sections.items():
        yield f"\n{title}\n", HEADING
        yield from _given(rows)
    yield "\nPrompts\n", HEADING
    prompts = found.prompts[-_PROMPTS:]
    if earlier := found.earlier + len(found.prompts) - len(prompts):
        yield f"{amount(earlier, 'earlier one')} not shown here.\n", FAINT
    if not prompts:
        yield "None were recorded.\n", ""
    yield from _prompts(view, prompts)
    if found.cost.doors:
        yield "\nTokens\n", HEADING
    for door in found.cost.doors:
        yield f"{door.door} {door.name}: {amount(door.calls, 'call')}, {amount(door.tokens, 'token')}\n", ""
    if whole:
        yield f"\nA new session of {one.project} starts with\n", HEADING
        yield screen_values.start_text(view.app, one.project) or "Nothing.", ""


def _prompts(view: View, prompts: Sequence[screen_values.AskedPrompt]) -> Iterator[Part]:
    for asked in prompts:
        yield f"{age(asked.prompt.created_at, view.now):>4} ", FAINT
        yield f"{one_line(asked.prompt.content, _PROMPT_CHARS)}\n", HEADING
        yield from _given(asked.given)
        if not asked.given:
            yield f"  Nothing given.{f' Reason today: {asked.why}.' if asked.why else ''}\n", ""
            if asked.words:
                yield f"  Words searched: {asked.words}\n", FAINT
            for near in nearly({"nearest": asked.nearest}):
                yield f"  Nearest: {near}\n", FAINT


def _given(rows: Sequence[Given]) -> Iterator[Part]:
    for one in rows:
        about = [one.type, *([f"{one.times} times"] if one.times > 1 else []), *(["deleted"] if one.deleted else [])]
        yield f"  [#{one.id}] {one_line(one.title, _TITLE_CHARS)} ({', '.join(about)})", ""
        yield " cited\n" if one.cited else "\n", HEADING


def waiting(view: View, kind: str, one: screen_values.Waiting) -> Iterator[Part]:
    """Yield a memory that waits for a person."""
    yield f"{kind}{f': {one.why}' if one.why else ''}\n", HEADING
    yield f"{_DO[kind]}\n\n", FAINT
    if one.other:
        yield f"Not taken:\n{one.other}\n\nTaken:\n", ""
    yield from memory(view, one.row.id)


ORDER, DERIVED, DUE, STALE = "Instructions to agents", "Derived, not confirmed", "Overdue for review", "Changed files"
UNTAKEN, EDITED = "Two edits of one memory", "Edited by hand, not signed"
UNCHECKED, OFFERED = "From elsewhere, not checked", "Decisions that can have a guard"
_DO = {
    UNTAKEN: "a: keep the text that was taken; r: restore the other; e: edit",
    EDITED: "Somebody edited its file. a: the edits of files here are mine (`engram sync --mine`)",
    ORDER: "It contains instructions to agents. Agents get it only after you accept it. a: accept; d: delete",
    UNCHECKED: "Somebody else wrote it. Agents see it marked as not checked, only in its project. a: accept; d: delete",
    DERIVED: "It was derived from a session. It is archived unless you accept or use it. a: accept; d: delete",
    DUE: "a: confirm that it is still true; e: edit; d: delete",
    STALE: "a: confirm that it is still true; e: edit; d: delete",
    OFFERED: "a: warn agents before they break it; c: never suggest it again",
}


def pair(view: View, one: Relation) -> Iterator[Part]:
    """Two memories that may contradict each other."""
    yield "Possible contradiction\n", HEADING
    yield f"v: choose how the two relate: {', '.join(verb.replace('_', ' ') for verb in VERBS)}\n", FAINT
    for end in (one.source_observation, one.target_observation):
        yield "\n", ""
        if end is None:
            yield "A deleted memory.\n", FAINT
        else:
            yield from memory(view, end)
            yield "\n", ""


def failed(one: screen_values.FailedSession) -> Iterator[Part]:
    """Yield a session whose summary failed."""
    yield f"Session {one.id}\n", HEADING
    yield f"{one.project}{' · given up' if one.state == 'dead' else ''}\n\n", FAINT
    yield f"{one.detail}\n\n`engram flush {one.id}` tries again.", ""


def guard(view: View, one: GuardLine | Offered) -> Iterator[Part]:
    """Yield a guard, what came of it, and the decision that it belongs to."""
    yield f"{rule_and_use(one.rule)}\n", HEADING
    if isinstance(one, Offered):
        yield "Suggested, off so far. a: warn agents before they break it; c: never suggest it again\n\n", FAINT
    else:
        counts = {"warnings": one.fired, "heeded": one.heeded, "ignored": one.ignored, "overruled": one.overruled}
        yield f"{' · '.join(f'{number:,} {name}' for name, number in counts.items())}\n", ""
        silent = "from elsewhere: off until you accept it" if one.unchecked else ""
        silent = silent or ("did more harm than good; off until you review it" if one.to_review else "")
        yield f"{f'{silent}; ' if silent else ''}o: turn off in its last session; d: remove\n\n", FAINT
    yield from memory(view, one.id)


def fix(view: View, one: FixLine) -> Iterator[Part]:
    yield f"{render.text(one, now=view.now, door='cli')}\n\n", ""
    yield from memory(view, one.id)


def upkeep(view: View, row: ListRow) -> Iterator[Part]:
    """Yield what ``r`` does here, and how upkeep and sync fare."""
    where = f"in {view.project}" if view.project else "in all projects"
    yield f"{row.label}{f': {row.note}' if row.note else ''}\n", HEADING
    yield (f"r switches it on or off {where}\n" if row.head == "switch" else "r: run it\n"), FAINT
    cloud = view.app.autosync.status()
    yield "\nSync\n", HEADING
    if cloud.server:
        last = f"{age(cloud.last_success_at, view.now)} ago" if cloud.last_success_at else "never"
        yield f"{cloud.server}: {amount(cloud.pending, 'change')} to send, last sync {last}\n", ""
        yield f"{cloud.reason_message}\n" if cloud.reason_message else "", HEADING
    else:
        yield "This memory syncs with no server.\n", ""
    yield "\nLatest runs\n", HEADING
    yield render.text(view.app.upkeep_reports.runs(limit=_RUNS), now=view.now, door="cli"), ""


# --- dialogs --------------------------------------------------------------------------------------------------

_KEYS = (
    ("1 … 7", "memories, sessions, search, review, guards, projects, upkeep"),
    ("j k ↓ ↑", "next and previous; PgDn PgUp a page, g G the ends"),
    ("/", "narrow the list, or search; an empty line shows all"),
    ("Enter", "read in the full width; Esc goes back"),
    ("Tab", "go to the preview, to scroll it, and back"),
    ("p", "choose a project"),
    ("n", "write a new memory; in upkeep: a statement about you"),
    ("e", "edit in $VISUAL or $EDITOR"),
    ("d", "delete; in guards: remove the guard, the memory is kept"),
    ("u", "undo the last change, then the one before it"),
    ("t", "pin on top of every session, or unpin"),
    ("x", "archive, or unarchive"),
    ("m", "replace by another memory; merge into another project"),
    ("w", "move to a project"),
    ("h", "show with earlier texts"),
    ("r", "restore an earlier text; in upkeep: run"),
    ("a", "accept, or confirm that it is still true"),
    ("c", "decline a guard"),
    ("v", "choose how a pair relates"),
    ("o", "turn a guard off"),
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


class AskScreen(ModalScreen[str | None]):
    """Answers with what is typed, None for Esc or nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", show=False)]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(content([(self._question, "bold")]), markup=False)
            yield Input(compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)
