"""``engram checkpoint``: keep the state of an agent, and give it back byte for byte."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from engram_py.interfaces.cli.commands import (
    group,
    json_command,
    limit_option,
    memory,
    prints_result,
    project_option,
)
from engram_py.interfaces.cli.terminal import show

if TYPE_CHECKING:
    from engram_py.app import Engram

session_option = click.option("--session", "session_id", help="The session; default: that of the command line.")

checkpoint_command = group("checkpoint", "Keep the state of an agent, out of every search.", alone="list")


@checkpoint_command.command("save")
@click.argument("file", type=click.File("rb"), default="-", help="What to keep; by default standard input.")
@session_option
@project_option
@prints_result
def save_command(app: Engram, file: BinaryIO, **options: Any) -> object:
    """Keep a file's bytes as the latest checkpoint of a session, at most a mebibyte."""
    from engram_py.sessions.checkpoints import LIMIT_BYTES

    return app.checkpoints.save(file.read(LIMIT_BYTES + 1), **options)


@checkpoint_command.command("load")
@click.option("--session", "session_id", help="The session; default: the one of the project that saved last.")
@project_option
@json_command
def load_command(as_json: bool, **options: Any) -> None:
    """Print the latest checkpoint, byte for byte; what is not text is base64 with --json."""
    with memory() as app:
        found = app.checkpoints.load(**options)
        if as_json:
            show(found, app.settings, as_json=True)
        else:
            sys.stdout.buffer.write(found.data)
            sys.stdout.buffer.flush()


@checkpoint_command.command("list")
@click.option("--session", "session_id", help="Only of this session.")
@limit_option(20)
@project_option
@prints_result
def list_command(app: Engram, limit: int = 20, session_id: str | None = None, project: str | None = None) -> object:
    """List the checkpoints of the project, the latest first."""
    return app.checkpoints.listed(session_id=session_id, project=project, limit=limit)
