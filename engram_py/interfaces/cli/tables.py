"""Results as tables, for a terminal."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from engram_py.interfaces.cli.terminal import printable
from engram_py.interfaces.wording.phrases import age, clock, end, relation
from engram_py.interfaces.wording.search import counted_in_order, marks, named, places
from engram_py.observations.listing import Listing, ObservationLine, Stats
from engram_py.observations.relation_values import Judged
from engram_py.observations.values import ReviewLine
from engram_py.projects.values import ProjectLine
from engram_py.recall.values import Hit, Results
from engram_py.sessions.values import Prompt, SessionLine
from engram_py.upkeep.values import Report

if TYPE_CHECKING:
    from engram_py.interfaces.wording.explain import Section

# The column that takes the room the others leave, and breaks anywhere: it holds what people wrote.
_WIDE = ("memory", "session", "prompt", "finding", "new", "older", "also")
_NUMBERS = ("observations", "sessions", "prompts", "kept", "count")
_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}
_SUMMARY_CHARS, _PROMPT_CHARS = 300, 500


def print_table(value: object, now: datetime) -> bool:
    """Print ``value`` as a table; False when it is no kind that has one, or there is nothing in it."""
    table = _table(value, now)
    if table is None:
        return False
    Console().print(table)
    return True


def _cell(text: str) -> str:
    """Escape rich's markup and the terminal's control sequences."""
    return escape(printable(text))


def _table(value: object, now: datetime) -> RenderableType | None:
    match value:
        case Results() if value.explain is not None:
            return _explained(value)
        case Results() if value.results:
            return _results(value, now)
        case Listing(items=(ObservationLine(), *_)):
            return _observations(value, now)
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
    table = _new(counted_in_order(value), *columns, spaced=True)
    for hit in value.results:
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
    from engram_py.interfaces.wording.explain import foot, head, sections

    parts: list[RenderableType] = [Text(printable("\n".join(head(value)))), Text()]
    for section in sections(value):
        parts += [Text.assemble((section.title, "bold"), f": {section.legend}"), _section(section)]
    if value.explain is not None:
        parts.append(Text(printable(foot(value.explain))))
    return Group(*parts)


def _section(section: Section) -> Table:
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
    title = value.name.capitalize()
    match value.items[0]:
        case ProjectLine():
            table = _new(title, "project", "observations", "sessions", "prompts", "active", "also")
            for row in value.items:
                active = age(row.last_activity_at, now) if row.last_activity_at else ""
                counts = (str(row.observations), str(row.sessions), str(row.prompts))
                table.add_row(_cell(row.name), *counts, active, _cell(", ".join(row.aliases)))
        case SessionLine():
            table = _new(title, "last active", "started", "state", "kept", "project", "session", spaced=True)
            for row in value.items:
                state = "open" if row.ended_at is None else "ended"
                active = age(row.last_activity_at or row.started_at, now)
                cells = (active, age(row.started_at, now), state, str(row.observations), _cell(row.project))
                table.add_row(*cells, _session(row))
        case Prompt():
            table = _new(title, "id", "age", "project", "prompt")
            for row in value.items:
                text = _cell(row.content[:_PROMPT_CHARS])
                table.add_row(str(row.id), age(row.created_at, now), _cell(row.project), text)
        case ReviewLine():
            table = _new("Due for review", "id", "type", "due", "project", "memory")
            for row in value.items:
                due = clock(row.review_after, now, "%Y-%m-%d")
                table.add_row(f"#{row.id}", _cell(row.type[:16]), due, _cell(row.project), _cell(row.title))
        case Judged():
            table = _new("Without a verdict", "judgment", "new", "older", spaced=True)
            for row in value.items:
                new = _cell(end(row.source_observation, row.source_title))
                older = _cell(end(row.target_observation, row.target_title))
                table.add_row(_cell(row.relation.sync_id), new, older)
        case _:
            return None
    return table


def _observations(value: Listing, now: datetime) -> Table:
    table = _new("Observations", "id", "type", "age", "project", "memory")
    for row in value.items:
        when = age(row.deleted_at or row.updated_at, now)
        marks = " [dim](pinned)[/dim]" if row.pinned else ""
        table.add_row(f"#{row.id}", _cell(row.type[:16]), when, _cell(row.project), _cell(row.title) + marks)
    return table


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
            finding += "".join(f"\n→ {_cell(step)}" for step in check.safe_next_step.splitlines())
        colour = _COLOURS[check.result]
        table.add_row(_cell(check.check_id), f"[{colour}]{check.result}[/{colour}]", finding)
    if value.backup:
        table.caption, table.caption_justify = _cell(f"backup before repair: {value.backup}"), "left"
    return table
