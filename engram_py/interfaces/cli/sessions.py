"""Commands for sessions, prompts and turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import limit_option, prints_result, project_options
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("sessions")
@project_options
@limit_option(20)
@prints_result
def sessions_command(app: Engram, **options: Any) -> Listing:
    """List sessions, the most recently active first."""
    return Listing("sessions", app.sessions.recent(**options))


@click.command("prompts")
@click.argument("query", nargs=-1, help="Words to find; none lists all.")
@click.option("--delete", "prompt_id", type=int, help="Remove the prompt with this id for good.")
@project_options
@limit_option(20)
@prints_result
def prompts_command(app: Engram, query: tuple[str, ...], prompt_id: int | None, **options: Any) -> Listing:
    """List what users asked for, newest first, or search it."""
    if prompt_id is not None:
        return Listing("deleted", (app.prompts.delete(prompt_id),))
    return Listing("prompts", app.prompts.recent(query=" ".join(query) or None, **options))


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
