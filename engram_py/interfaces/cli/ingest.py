"""``engram ingest``: keep a conversation that took place elsewhere; ``engram agents``: whose sessions are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.errors import InvalidArgumentError, InvalidInputError
from engram_py.files import open_regular
from engram_py.interfaces.arguments import unknown_names
from engram_py.interfaces.cli.commands import PATH, here, prints_result, project_option
from engram_py.interfaces.cli.terminal import print_notes, text_argument
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram

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


class NoConversationError(InvalidInputError):
    code = "no_conversation"

    def __init__(self, reason: str) -> None:
        super().__init__(f"that is no conversation: {reason}", hint=f"give one JSON object: {_SHAPE}")


@click.command("ingest")
@click.argument("file", type=PATH, help="The conversation as JSON; - reads standard input.")
@click.option("--conversation", "conversation_id", metavar="ID", help="Its name, in the place of conversation_id.")
@click.option("--agent", "agent_id", metavar="ID", help="Whose it is, in the place of agent_id.")
@click.option("--session-date", metavar="DATE", help="The day it took place.")
@click.option("--skip-extraction", is_flag=True, default=None, help="Keep the turns alone.")
@click.option("--flush/--no-flush", default=None, help="Wait for the summary, or leave it to the background.")
@project_option
@prints_result
def ingest_command(app: Engram, file: Path, **options: Any) -> object:
    """Keep a whole conversation of another program and summarize it.

    FILE is what POST /memory/ingest takes: {"agent_id": "…", "conversation_id": "…", "turns": [{"user": "…",
    "assistant": "…"}, …]}; a turn may be {"role": "…", "content": "…"} instead, and FILE the list of turns alone. The
    same conversation again adds nothing, a longer one goes on, another one of its name takes its place. Without
    --flush it waits only where no program or endpoint writes summaries.
    """
    given = _read(file) | {name: value for name, value in options.items() if value is not None}
    for name in ("conversation_id", "turns"):
        if name not in given:
            raise InvalidArgumentError(name, None, expected="given")
    return app.ingest(given.pop("conversation_id"), given.pop("turns"), **given)


@click.command("agents")
@click.argument("agent_id", metavar="[ID]", required=False, help="Only this one.")
@prints_result
def agents_command(app: Engram, agent_id: str | None) -> Listing:
    """List the agents whose sessions are kept, the last active first, with what they left."""
    from engram_py.sessions.agents import agents

    return Listing("agents", agents(app.store, agent_id))


def _read(file: Path) -> dict[str, Any]:
    """Return the fields of a conversation. Raises NoConversationError, InvalidArgumentError."""
    try:
        if str(file) == "-":
            value = json.loads(text_argument("-"))
        else:
            with open_regular(here() / file) as opened:
                value = json.loads(opened.read().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as exc:
        raise NoConversationError(str(exc)[:200]) from exc
    if isinstance(value, list):
        return {"turns": value}
    if not isinstance(value, dict):
        raise NoConversationError("it is no object")
    print_notes(unknown_names(value, _FIELDS, kind="field"))
    given = {name: value[name] for name in _FIELDS if value.get(name) is not None}
    for name, one in given.items():
        if not isinstance(one, _FIELDS[name]):
            raise InvalidArgumentError(name, one, expected=_KINDS[_FIELDS[name]])
    return given
