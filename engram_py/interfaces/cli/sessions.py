"""Commands for sessions, prompts and turns; ``engram ingest`` keeps a conversation of another program, ``engram
agents`` lists whose sessions are kept, ``engram checkpoint`` keeps the state of an agent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from engram_py.base.database.mutation_queue import count_rows
from engram_py.base.errors import InvalidArgumentError, InvalidInputError
from engram_py.base.files import expanded, here, open_regular
from engram_py.base.reasons import amount
from engram_py.base.times import to_text
from engram_py.interfaces.cli.commands import (
    PATH,
    group,
    json_command,
    limit_option,
    memory,
    one_project_option,
    print_notes,
    project_option,
    project_options,
    result_command,
    show,
    text_argument,
    value_command,
    yes_option,
)
from engram_py.interfaces.cli.observations import delete_prompts
from engram_py.interfaces.cli.progress import interruptible
from engram_py.interfaces.input_checks import unknown_names
from engram_py.memory.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.upkeep.distill.values import Flushed


@result_command("sessions", project_options, limit_option(20, paged=True))
def sessions_command(app: Engram, project: str | None, all_projects: bool, **options: Any) -> Listing:
    """List sessions, the most recently active first."""
    found = app.sessions.recent(project, all_projects=all_projects, **options)
    return Listing("sessions", found, total=_count(app, "session", project, all_projects))


def _count(app: Engram, kind: str, project: str | None, all_projects: bool) -> int:
    return count_rows(app.store, kind, app.projects.for_read(project, all_projects=all_projects).reads)


@result_command("prompts")
@click.argument("query", nargs=-1, help="Words to find; default: list all.")
@click.option("--delete", "ids", type=int, multiple=True, help="Delete this prompt for good; may be repeated.")
@project_options
@limit_option(20, paged=True)
@yes_option
def prompts_command(
    app: Engram, query: tuple[str, ...], ids: tuple[int, ...], yes: bool, limit: int, offset: int, **projects: Any
) -> Listing:
    """List or search your prompts, newest first. --delete shows the prompts and asks first."""
    if ids:
        return delete_prompts(app, ids, yes=yes, **projects)
    found = app.searches.prompts(" ".join(query), limit=limit, offset=offset, **projects)
    return Listing("prompts", found, total=None if query else _count(app, "prompt", **projects))


@result_command("turns")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@project_options
@limit_option(20, paged=True)
def turns_command(
    app: Engram, session_id: str | None, project: str | None, all_projects: bool, limit: int, offset: int
) -> Listing:
    """List the messages of conversations that hooks kept, newest first.

    `engram off --record` stops keeping them, `engram clear turns` destroys them.
    """
    reads = None if session_id else app.projects.for_read(project, all_projects=all_projects).reads
    found = app.transcripts.latest(session_id=session_id, projects=reads, limit=limit, offset=offset)
    return Listing("turns", tuple(found), total=app.transcripts.count(session_id=session_id, projects=reads))


@result_command("flush")
@click.argument("session_id", metavar="[SESSION]", required=False, help="Only this session, also if it failed before.")
def flush_command(app: Engram, session_id: str | None) -> Flushed:
    """Summarize sessions that left no summary, now.

    Engram does it in the background a minute after the last message, and when a session ends; `engram turns` lists the
    messages it uses. A summary that an agent saved stays.
    """
    with interruptible("the summaries so far are kept; the other sessions still wait"):
        return app.distilling.flush(session_id)


session_command = group("session", "End open sessions. A session that is used again is reopened.")


@value_command("end", of=session_command)
@click.argument("session_id", metavar="[SESSION]", required=False, help="The session.")
@click.option("--summary", help="The summary of the session.")
@click.option("--by-age", metavar="TIME", help="End all sessions unused for this time: 72h, 30d, 2w.")
@one_project_option
@click.option("--apply", is_flag=True, help="With --by-age: end them; without it, list them only.")
def end_command(
    session_id: str | None, summary: str | None, by_age: str | None, project: str | None, apply: bool
) -> tuple[object, str]:
    """End a session, or all that were unused for a time."""
    if bool(session_id) == bool(by_age):
        said = "a session and --by-age do not go together" if session_id else "the session is missing"
        raise InvalidArgumentError("session", said=said, step="give one session, or --by-age TIME")
    with memory() as app:
        if session_id and (at := app.sessions.get(session_id).ended_at) and not summary:
            return {"session_id": session_id, "ended_at": at}, f"Session {session_id} ended already."
        if session_id:
            ended = app.sessions.end(session_id, summary=summary).session
            return {"session_id": ended.id, "ended_at": ended.ended_at}, f"Session {ended.id} ended."
        span = app.journal.calendar.span(by_age or "")
        if span is None:
            raise InvalidArgumentError("by-age", by_age, expected="a time such as 72h, 30d or 2w")
        ids = app.sessions.end_unused(to_text(span[0]), project=project, dry_run=not apply)
    verb = "Ended" if apply else "With --apply this would end"
    return {"sessions": ids, "applied": apply}, "\n".join([f"{verb} {amount(len(ids), 'session')}.", *ids])


_SHAPE = "{agent_id, conversation_id, turns, session_date?, skip_extraction?, flush?}"
# What the JSON may say, and of which kind it is.
_FIELDS: dict[str, type] = {
    "agent_id": str,
    "conversation_id": str,
    "turns": list,
    "session_date": str,
    "skip_extraction": bool,
    "flush": bool,
    "project": str,
}

_KINDS: dict[type, str] = {str: "text", list: "a list", bool: "true or false"}


@result_command("ingest")
@click.argument("file", type=PATH, help="The conversation as JSON; - reads standard input.")
@click.option(
    "--conversation", "conversation_id", metavar="ID", help="Its name, instead of conversation_id in the file."
)
@click.option("--agent", "agent_id", metavar="ID", help="Its agent, instead of agent_id in the file.")
@click.option("--session-date", metavar="DATE", help="The day of the conversation.")
@click.option("--skip-extraction", is_flag=True, default=None, help="Store only the messages, without a summary.")
@click.option("--flush/--no-flush", default=None, help="Wait for the summary (default), or write it later.")
@project_option
def ingest_command(app: Engram, file: Path, **options: Any) -> object:
    """Keep a whole conversation of another program and summarize it.

    FILE is the body of POST /memory/ingest: {"agent_id": "…", "conversation_id": "…", "turns": [{"user": "…",
    "assistant": "…"}, …]}; a turn may also be {"role": "…", "content": "…"}, and FILE may be only the list of turns.
    The same conversation is ignored, a longer one is continued, a different one with the same name replaces it.
    """
    given = _read(file) | {name: value for name, value in options.items() if value is not None}
    for name in ("conversation_id", "turns"):
        if name not in given:
            raise InvalidArgumentError(name, None, expected="given")
    given.setdefault("flush", True)  # no server may run that would write it later
    return app.ingest(given.pop("conversation_id"), given.pop("turns"), **given)


@result_command("agents")
@click.argument("agent_id", metavar="[ID]", required=False, help="Only this agent.")
@limit_option(100, whole=True)
def agents_command(app: Engram, agent_id: str | None) -> Listing:
    """List agents with their sessions and memories, last active first."""
    from engram_py.memory.sessions.checkpoints import agents

    return Listing("agents", agents(app.store, agent_id))


def _read(file: Path) -> dict[str, Any]:
    """Return the fields of a conversation. Raises InvalidInputError."""
    try:
        if str(file) == "-":
            value = json.loads(text_argument("-"))
        else:
            with open_regular(here() / file) as opened:
                value = json.loads(opened.read().decode("utf-8-sig"))
        if not isinstance(value, dict | list):
            raise ValueError("it is no object")
    except (OSError, ValueError, RecursionError) as exc:
        reason = str(exc)[:200]
        raise InvalidInputError(
            f"that is no conversation: {reason}", hint=f"give one JSON object: {_SHAPE}", code="no_conversation"
        ) from exc
    if isinstance(value, list):
        return {"turns": value}
    print_notes(unknown_names(value, _FIELDS, kind="field"))
    given = {name: value[name] for name in _FIELDS if value.get(name) is not None}
    for name, one in given.items():
        if not isinstance(one, _FIELDS[name]):
            raise InvalidArgumentError(name, one, expected=_KINDS[_FIELDS[name]])
    return given


session_option = click.option("--session", "session_id", help="The session; default: manual-save-PROJECT.")


class _File(click.File):
    """A file whose ``~`` is the home directory, though no shell expanded it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(str(expanded(value)) if isinstance(value, str) else value, param, ctx)


checkpoint_command = group("checkpoint", "Keep the state of an agent; searches do not find it.", alone="list")


@result_command("save", of=checkpoint_command)
@click.argument("file", type=_File("rb"), default="-", help="The file to keep; default: standard input.")
@session_option
@project_option
def save_command(app: Engram, file: BinaryIO, **options: Any) -> object:
    """Store a file as the latest checkpoint of a session, at most 1 MiB."""
    from engram_py.memory.sessions.checkpoints import LIMIT_BYTES

    return app.checkpoints.save(file.read(LIMIT_BYTES + 1), **options)


@checkpoint_command.command("load")
@click.option("--session", "session_id", help="The session; default: the project's latest one with a checkpoint.")
@project_option
@json_command
def load_command(as_json: bool, **options: Any) -> None:
    """Print the latest checkpoint unchanged; --json prints binary content as base64."""
    with memory() as app:
        found = app.checkpoints.load(**options)
        if as_json:
            show(found, app.settings, as_json=True)
        else:
            sys.stdout.buffer.write(found.data)
            sys.stdout.buffer.flush()


@result_command("list", of=checkpoint_command)
@click.option("--session", "session_id", help="Only of this session.")
@limit_option(20)
@project_option
def list_command(app: Engram, limit: int = 20, session_id: str | None = None, project: str | None = None) -> object:
    """List the checkpoints of the project, latest first."""
    return app.checkpoints.listed(session_id=session_id, project=project, limit=limit)
