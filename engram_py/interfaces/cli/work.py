"""The commands about sessions, prompts, reviews and verdicts."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import (
    OBSERVATION_ID,
    all_option,
    json_option,
    limit_option,
    memory,
    project_option,
    refusing,
    show,
)
from engram_py.observations.relation_values import VERBS


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

    `engram off --record` keeps no more of them, `engram clear turns` destroys them.
    """
    from engram_py.observations.listing import Listing

    with memory() as app:
        reads = None if session_id else app.projects.for_read(project, all_projects=all_projects).reads
        rows = app.transcripts.latest(session_id=session_id, projects=reads, limit=limit)
        show(Listing("turns", tuple(rows)), app, as_json=as_json)


@click.command("review")
@click.argument("observation_id", metavar="[ID]", type=OBSERVATION_ID, required=False, help="What still holds.")
@project_option
@all_option
@limit_option(10)
@json_option
@refusing
def review_command(
    observation_id: int | None, project: str | None, all_projects: bool, limit: int, as_json: bool
) -> None:
    """List what is due for review, or confirm that ID still holds."""

    with memory() as app:
        if observation_id is not None:
            show(app.observations.mark_reviewed(observation_id), app, as_json=as_json)
            return
        due = app.observations.due_for_review(project, all_projects=all_projects, limit=limit)
        show(due, app, as_json=as_json)


@click.command("judge")
@click.argument("judgment_id", required=False, help="What `engram save` answered, as in rel-0123456789abcdef.")
@click.argument("relation", required=False, help=", ".join(VERBS) + ".")
@click.option("--reason", help="Why.")
@click.option("--evidence", help="What shows it.")
@click.option("--confidence", type=float, help="0 to 1.")
@project_option
@all_option
@limit_option(20)
@json_option
@refusing
def judge_command(
    judgment_id: str | None,
    relation: str | None,
    reason: str | None,
    evidence: str | None,
    confidence: float | None,
    project: str | None,
    all_projects: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List relations without a verdict, or give one."""
    from engram_py.observations.listing import Listing

    if judgment_id is not None and relation is None:
        raise click.UsageError("RELATION is missing: engram judge JUDGMENT_ID RELATION")
    with memory() as app:
        if judgment_id is not None and relation is not None:
            judged = app.relations.judge(judgment_id, relation, reason=reason, evidence=evidence, confidence=confidence)
            show(judged, app, as_json=as_json)
            return
        rows = app.relations.pending(project, all_projects=all_projects, limit=limit)
        show(Listing("pending", rows), app, as_json=as_json)
