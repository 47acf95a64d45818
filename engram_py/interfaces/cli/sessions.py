"""Commands for sessions, prompts and turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.bulk import delete_prompts
from engram_py.interfaces.cli.commands import limit_option, prints_result, project_options, yes_option
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.distill.values import Flushed


@click.command("sessions")
@project_options
@limit_option(20)
@prints_result
def sessions_command(app: Engram, **options: Any) -> Listing:
    """List sessions, the most recently active first."""
    return Listing("sessions", app.sessions.recent(**options))


@click.command("prompts")
@click.argument("query", nargs=-1, help="Words to find; none lists all.")
@click.option("--delete", "ids", type=int, multiple=True, help="Remove this prompt for good; may be repeated.")
@project_options
@limit_option(20)
@yes_option
@prints_result
def prompts_command(
    app: Engram, query: tuple[str, ...], ids: tuple[int, ...], yes: bool, limit: int, **projects: Any
) -> Listing:
    """List what users asked for, newest first, or search it. --delete shows the prompts of the project, and asks."""
    if ids:
        return delete_prompts(app, ids, yes=yes, **projects)
    return Listing("prompts", app.prompts.recent(query=" ".join(query) or None, limit=limit, **projects))


@click.command("turns")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@project_options
@limit_option(20)
@prints_result
def turns_command(app: Engram, session_id: str | None, project: str | None, all_projects: bool, limit: int) -> Listing:
    """List the raw messages that hooks kept of conversations, newest first.

    `engram off --record` stops keeping them, `engram clear turns` destroys them.
    """
    reads = None if session_id else app.projects.for_read(project, all_projects=all_projects).reads
    return Listing("turns", tuple(app.transcripts.latest(session_id=session_id, projects=reads, limit=limit)))


@click.command("flush")
@click.argument("session_id", metavar="[SESSION]", required=False, help="Only this session; tried again if it failed.")
@prints_result
def flush_command(app: Engram, session_id: str | None) -> Flushed:
    """Summarize sessions that left no summary, now.

    That is done in the background a minute after the last message, and when a session ends; `engram turns` lists what
    it is made of. What agents saved as a summary stays as it is.
    """
    return app.distilling.flush(session_id)
