"""Results as tables, for a terminal."""

from __future__ import annotations

from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from engram_py.interfaces.wording import age, relation
from engram_py.models.context import Stats
from engram_py.models.health import Report
from engram_py.models.listing import Listing
from engram_py.models.observation import Results, ReviewLine
from engram_py.models.project import ProjectLine
from engram_py.models.session import Prompt, SessionLine

_WIDE = ("memory", "summary", "prompt", "finding")
_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


def print_table(value: object, now: datetime) -> bool:
    """Print ``value`` as a table; False when it is no kind that has one, or there is nothing in it."""
    table = _table(value, now)
    if table is None:
        return False
    console = Console()
    console.print(table)
    for warning in getattr(value, "warnings", ()):
        console.print(f"note: {escape(warning)}", style="dim")
    return True


def _table(value: object, now: datetime) -> Table | None:
    match value:
        case Results() if value.results:
            return _results(value, now)
        case Listing() if value.items:
            return _listing(value, now)
        case Stats():
            return _stats(value)
        case Report():
            return _report(value)
    return None


def _new(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(
            column, overflow="fold", ratio=1 if column in ("memory", "summary", "prompt", "finding") else None
        )
    return table


def _results(value: Results, now: datetime) -> Table:
    table = _new(f"{len(value.results)} found ({value.rung})", "id", "type", "age", "project", "memory")
    for hit in value.results:
        lines = [f"[bold]{escape(hit.title)}[/bold]", escape(hit.snippet)]
        lines += [f"[yellow]{escape(relation(note))}[/yellow]" for note in hit.relations]
        table.add_row(f"#{hit.id}", escape(hit.type), age(hit.updated_at, now), escape(hit.project), "\n".join(lines))
    return table


def _listing(value: Listing, now: datetime) -> Table | None:
    match value.items[0]:
        case ProjectLine():
            table = _new("Projects", "project", "observations", "sessions", "prompts", "active", "also")
            for row in value.items:
                active = age(row.last_activity_at, now) if row.last_activity_at else ""
                counts = (str(row.observations), str(row.sessions), str(row.prompts))
                table.add_row(escape(row.name), *counts, active, escape(", ".join(row.aliases)))
        case SessionLine():
            table = _new("Sessions", "session", "project", "agent", "started", "state", "kept", "summary")
            for row in value.items:
                state = "open" if row.ended_at is None else "ended"
                summary = escape(" ".join((row.summary or "").split())[:300])
                cells = (escape(row.id), escape(row.project), escape(row.agent), age(row.started_at, now), state)
                table.add_row(*cells, str(row.observations), summary)
        case Prompt():
            table = _new("Prompts", "id", "age", "project", "prompt")
            for row in value.items:
                table.add_row(str(row.id), age(row.created_at, now), escape(row.project), escape(row.content[:500]))
        case ReviewLine():
            table = _new("Due for review", "id", "type", "project", "due", "memory")
            for row in value.items:
                marks = (escape(row.type), escape(row.project), row.review_after[:10])
                table.add_row(f"#{row.id}", *marks, escape(row.title))
        case _:
            return None
    return table


def _stats(value: Stats) -> Table:
    table = _new("Memory", "what", "count")
    for name in ("total_observations", "total_sessions", "total_prompts", "total_relations", "versions",
                 "deleted_observations", "queued_mutations", "database_bytes"):  # fmt: skip
        table.add_row(name.removeprefix("total_").replace("_", " "), f"{getattr(value, name):,}")
    for name, count in value.types.items():
        table.add_row(f"  of type {escape(name)}", f"{count:,}")
    return table


def _report(value: Report) -> Table:
    table = _new(f"{escape(value.path)}: {value.status}", "check", "result", "finding")
    for check in value.checks:
        finding = escape(check.message) + (" (repaired)" if check.fixed else "")
        if check.safe_next_step and check.result != "ok":
            finding += f"\n→ {escape(check.safe_next_step)}"
        colour = _COLOURS[check.result]
        table.add_row(check.check_id, f"[{colour}]{check.result}[/{colour}]", finding)
    return table
