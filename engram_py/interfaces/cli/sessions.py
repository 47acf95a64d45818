"""Commands for sessions, prompts and turns."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import (
    all_option,
    json_option,
    limit_option,
    memory,
    project_option,
    refusing,
    show,
)


@click.command("sessions")
@project_option
@all_option
@limit_option(20)
@json_option
@refusing
def sessions_command(project: str | None, all_projects: bool, limit: int, as_json: bool) -> None:
    """List sessions, the most recently active first."""
    from engram_py.observations.listing import Listing

    with memory() as app:
        rows = app.sessions.recent(project, all_projects=all_projects, limit=limit)
        show(Listing("sessions", rows), app, as_json=as_json)


@click.command("prompts")
@click.argument("query", nargs=-1, help="Words to find; none lists all.")
@click.option("--delete", "prompt_id", type=int, help="Remove the prompt with this id for good.")
@project_option
@all_option
@limit_option(20)
@json_option
@refusing
def prompts_command(
    query: tuple[str, ...], prompt_id: int | None, project: str | None, all_projects: bool, limit: int, as_json: bool
) -> None:
    """List what users asked for, newest first, or search it."""
    from engram_py.observations.listing import Listing

    with memory() as app:
        if prompt_id is not None:
            show(Listing("deleted", (app.prompts.delete(prompt_id),)), app, as_json=as_json)
            return
        rows = app.prompts.recent(project, query=" ".join(query) or None, all_projects=all_projects, limit=limit)
        show(Listing("prompts", rows), app, as_json=as_json)


@click.command("turns")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@project_option
@all_option
@limit_option(20)
@json_option
@refusing
def turns_command(session_id: str | None, project: str | None, all_projects: bool, limit: int, as_json: bool) -> None:
    """List the raw messages that hooks kept of conversations, newest first.

    `engram off --record` stops keeping them, `engram clear turns` destroys them.
    """
    from engram_py.observations.listing import Listing

    with memory() as app:
        reads = None if session_id else app.projects.for_read(project, all_projects=all_projects).reads
        rows = app.transcripts.latest(session_id=session_id, projects=reads, limit=limit)
        show(Listing("turns", tuple(rows)), app, as_json=as_json)
