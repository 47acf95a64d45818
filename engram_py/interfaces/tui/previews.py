"""What is shown beside a list: a memory whole, why a hit was found, what a session was given, what waits and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engram_py.interfaces.given import EXPLAINED, AskedPrompt, session_given, start_text
from engram_py.interfaces.tui.reading import View
from engram_py.interfaces.tui.text import Part
from engram_py.interfaces.waiting import FailedSession, Waiting
from engram_py.interfaces.wording import explain, render, search
from engram_py.interfaces.wording.phrases import age, amount, one_line
from engram_py.interfaces.wording.why import nearly
from engram_py.ledger.given import Given, sessions_given
from engram_py.recall.values import Hit, Results
from engram_py.relations.values import VERBS, Relation

_HEADING, _FAINT = "bold", "dim"
_SESSIONS, _PROMPT_CHARS, _PROMPTS, _TITLE_CHARS = 20, 600, 50, 100


def memory(view: View, observation_id: int, *, history: bool = False) -> Iterator[Part]:
    """Yield an observation in the words of ``engram get``, and the sessions that were given it."""
    detail = view.app.observations.get(observation_id, history=history)
    title, about, *rest = render.text(detail, now=view.now, full=True).split("\n")
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
        hits = explain.sections(found)[0]
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
    yield "\n".join([*explain.head(found), *search.doubts(found)]) + "\n", ""
    for section in explain.sections(found)[1 if found.results else 0 :]:
        yield f"{section.title}: {section.legend}\n", _FAINT
        for row in section.rows:
            yield f"  {row[0]}: ", _HEADING
            named = zip(section.columns[1:-1], row[1:-1], strict=True)
            yield f"{', '.join(f'{name} {value}' for name, value in named)}; {row[-1]}\n", ""
    if found.explain:
        yield f"{explain.foot(found.explain)}\n", _FAINT
    for note in found.warnings:
        yield f"note: {note}\n", ""


def session(view: View, session_id: str, *, whole: bool) -> Iterator[Part]:
    """Yield what my agent got; ``whole`` with what takes longer: why prompts were given nothing, and the start text."""
    found = session_given(view.app, session_id, explained=EXPLAINED if whole else 0)
    one = found.session
    ended = f"ended {age(one.ended_at, view.now)}" if one.ended_at else "open"
    tokens = amount((found.counts.bytes + 3) // 4, "token")
    yield f"{one.agent or 'Session'} {one.id}\n", _HEADING
    yield f"{one.project} · started {age(one.started_at, view.now)}, {ended}\n", _FAINT
    yield f"given {found.counts.given}, cited {found.counts.cited} · {tokens}\n", _FAINT
    if one.summary:
        yield f"\n{one.summary}\n", ""
    if not found.sections:
        yield "\nIt was given nothing but what its prompts show.\n", ""
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
UNCHECKED = "From elsewhere, not checked"
_DO = {
    ORDER: "It tells an agent what to do. Agents get it only after you accept it. a accepts it, d deletes it",
    UNCHECKED: "Somebody else wrote it. Agents see it apart and only in its project. a makes it yours, d deletes it",
    DERIVED: "It was distilled from a session. It fades unless it is accepted or used. a accepts it, d deletes it",
    DUE: "a confirms that it still holds, e edits it, d deletes it",
    STALE: "a confirms that it still holds, e edits it, d deletes it",
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
