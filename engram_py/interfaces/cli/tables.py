"""Results as tables, for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from engram_py.base.files import lines_of
from engram_py.base.text.normalize import visible
from engram_py.interfaces.wording.documents import hit_lines
from engram_py.interfaces.wording.phrases import age, clock
from engram_py.interfaces.wording.relations import end, relation
from engram_py.interfaces.wording.search import marks, match_count, named, places
from engram_py.memory.observations.listing import Listing, ObservationLine, ReviewLine, Stats
from engram_py.memory.projects.values import ProjectLine
from engram_py.memory.relations.values import Relation
from engram_py.memory.sessions.values import Prompt, SessionLine
from engram_py.recall.values import DocumentHit, Hit, Results
from engram_py.upkeep.values import Report

if TYPE_CHECKING:
    from engram_py.interfaces.wording.search import TableSection

# The column that takes the room the others leave, and breaks anywhere: it holds what people wrote.
_WIDE = ("memory", "session", "prompt", "finding", "new", "older", "also")
_NUMBERS = ("observations", "sessions", "prompts", "kept", "count")
_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}
_SUMMARY_CHARS, _PROMPT_CHARS = 300, 500
# Of each kind of list: the title unless it is the list's name, the columns, and whether rows stand apart.
_LISTS: dict[type, tuple[str, str, bool]] = {
    ObservationLine: ("Observations", "id, type, age, project, memory", False),
    ProjectLine: ("", "project, observations, sessions, prompts, active, also", False),
    SessionLine: ("", "last active, started, state, kept, project, session", True),
    Prompt: ("", "id, age, project, prompt", False),
    ReviewLine: ("Due for review", "id, type, due, project, memory", False),
    Relation: ("Without a verdict", "judgment, new, older", True),
}


def print_table(value: object, now: datetime) -> bool:
    """Print ``value`` as a table; False when it is no kind that has one, or there is nothing in it."""
    table = _table(value, now)
    if table is None:
        return False
    Console().print(table)
    return True


def _cell(text: str) -> str:
    """Escape rich's markup and the terminal's control sequences."""
    return escape(visible(text))


def _table(value: object, now: datetime) -> RenderableType | None:
    match value:
        case Results() if value.explain is not None:
            return _explained(value)
        case Results() if value.results or value.documents:
            return _results(value, now)
        case Listing() if value.items:
            return _listing(value, now)
        case Stats():
            return _stats(value)
        case Report():
            return _report(value)
    return None


def _new(title: str, *columns: str, spaced: bool = False) -> Table:
    table = Table(
        title=_cell(title), title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, leading=int(spaced)
    )
    for column in columns:
        wide = column in _WIDE
        table.add_column(
            column,
            overflow="fold",
            ratio=1 if wide else None,
            no_wrap=not wide and column != "project",
            justify="right" if column in _NUMBERS else "left",
        )
    return table


def _results(value: Results, now: datetime) -> Table:
    several = value.projects is None or any(hit.project not in value.projects[:1] for hit in value.results)
    columns = ("id", "type", "age", *(("project",) if several else ()), "memory")
    table = _new(match_count(value), *columns, spaced=True)
    for hit in value.page:
        if isinstance(hit, DocumentHit):
            project = (_cell(hit.project),) if several else ()
            lines = list(hit_lines(hit, now))
            table.add_row("", hit.kind, age(hit.at, now), *project, _cell("\n".join(lines)))
            continue
        lines = [f"[bold]{_cell(named(hit))}[/bold]{_marks(hit)}", *([_cell(hit.snippet)] if hit.snippet else [])]
        more = [places(hit, full=True), *(relation(note) for note in hit.relations)]
        lines += [f"[yellow]{_cell(line)}[/yellow]" for line in more if line]
        project = (_cell(hit.project),) if several else ()
        table.add_row(f"#{hit.id}", _cell(hit.type[:16]), age(hit.updated_at, now), *project, "\n".join(lines))
    return table


def _marks(hit: Hit) -> str:
    found = marks(hit)
    return f" [dim]({_cell(', '.join(found))})[/dim]" if found else ""


def _explained(value: Results) -> Group:
    from engram_py.interfaces.wording.search import foot, head, sections

    parts: list[RenderableType] = [Text(visible("\n".join(head(value, "cli")))), Text()]
    for section in sections(value):
        parts += [Text.assemble((section.title, "bold"), f": {section.legend}"), _section(section)]
    if value.explain is not None:
        parts.append(Text(visible(foot(value.explain))))
    return Group(*parts)


def _section(section: TableSection) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    # What the factors are stands below the title: beside it there is no room on a narrow terminal.
    folded = "factors" in section.columns
    for name, figures in zip(section.columns, section.figures, strict=True):
        wide = name == section.columns[-1]
        if name != "factors":
            side: Literal["right", "left"] = "right" if figures else "left"
            table.add_column(name, overflow="fold", ratio=1 if wide else None, no_wrap=not wide, justify=side)
    for row in section.rows:
        cells = [_cell(cell) for cell in row]
        if folded:
            cells[-2:] = [f"{cells[-1]}\n[dim]{cells[-2]}[/dim]"]
        table.add_row(*cells)
    return table


def _listing(value: Listing, now: datetime) -> Table | None:
    kind = type(value.items[0])
    if kind not in _LISTS or any(type(item) is not kind for item in value.items):
        return None
    title, columns, spaced = _LISTS[kind]
    table = _new(title or value.name.capitalize(), *columns.split(", "), spaced=spaced)
    for row in value.items:
        table.add_row(*_cells(row, now))
    return table


def _cells(row: Any, now: datetime) -> tuple[str, ...]:
    match row:
        case ObservationLine():
            pinned = " [dim](pinned)[/dim]" if row.pinned else ""
            when = age(row.deleted_at or row.updated_at, now)
            return f"#{row.id}", _cell(row.type[:16]), when, _cell(row.project), _cell(row.title) + pinned
        case ProjectLine():
            active = age(row.last_activity_at, now) if row.last_activity_at else ""
            counts = (str(row.observations), str(row.sessions), str(row.prompts))
            return _cell(row.name), *counts, active, _cell(", ".join(row.aliases))
        case SessionLine():
            ages = (age(row.last_activity_at or row.started_at, now), age(row.started_at, now))
            state = "open" if row.ended_at is None else "ended"
            return *ages, state, str(row.observations), _cell(row.project), _session(row)
        case Prompt():
            return str(row.id), age(row.created_at, now), _cell(row.project), _cell(row.content[:_PROMPT_CHARS])
        case ReviewLine():
            due = clock(row.review_after, now, "%Y-%m-%d") if row.review_after else "more harm than help"
            return f"#{row.id}", _cell(row.type[:16]), due, _cell(row.project), _cell(row.title)
    ends = (row.source_observation, row.source_title), (row.target_observation, row.target_title)
    return _cell(row.sync_id), *(_cell(end(*one)) for one in ends)


def _session(row: SessionLine) -> str:
    agent = f" [dim]({_cell(row.agent)})[/dim]" if row.agent else ""
    summary = _cell(" ".join((row.summary or "").split())[:_SUMMARY_CHARS])
    return f"{_cell(row.id)}{agent}" + (f"\n{summary}" if summary else "")


def _stats(value: Stats) -> Table:
    table = _new(value.database_path, "what", "count")
    counts = ["total_observations", "total_sessions", "total_prompts", "total_relations", "versions"]
    counts += ["deleted_observations", *(["queued_mutations"] if value.syncs else []), "database_bytes"]
    for name in counts:
        table.add_row(name.removeprefix("total_").replace("_", " "), f"{getattr(value, name):,}")
    table.add_row("projects", f"{len(value.projects):,}")
    for name, count in value.types.items():
        table.add_row(f"  of type {_cell(name)}", f"{count:,}")
    return table


def _report(value: Report) -> Table:
    table = _new(f"{value.path}: {value.status}", "check", "result", "finding")
    for check in value.checks:
        finding = _cell(check.message) + (" (repaired)" if check.fixed else "")
        if check.safe_next_step and check.result != "ok":
            finding += "".join(f"\n→ {_cell(step)}" for step in lines_of(check.safe_next_step))
        colour = _COLOURS[check.result]
        table.add_row(_cell(check.check_id), f"[{colour}]{check.result}[/{colour}]", finding)
    if value.backup:
        table.caption, table.caption_justify = _cell(f"backup before repair: {value.backup}"), "left"
    return table
