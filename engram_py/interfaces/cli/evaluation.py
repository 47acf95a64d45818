"""``engram eval``: the user's own retrieval tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.commands import OBSERVATION_ID, json_command, memory, pass_json_on, prints_result
from engram_py.interfaces.cli.terminal import progress, show, text_argument
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.group("eval", invoke_without_command=True)
@click.option("--keep", is_flag=True, help="Compare later runs with this one; the first run is kept automatically.")
@click.option(
    "--tolerance", type=float, help="How much hit@5 or MRR may be lower before it counts as a fall; default 0.01."
)
@click.pass_context
@json_command
def eval_command(ctx: click.Context, keep: bool, tolerance: float | None, as_json: bool) -> None:
    """Run every question and compare with the kept run. Exit code 1 when hit@5 or MRR fell, or a question that should
    find nothing now finds something.

    `add`, `list` and `remove` manage the questions. Everything stays on this machine.
    """
    if pass_json_on(ctx, as_json=as_json):
        return
    from engram_py.version import __version__

    with memory() as app, progress("Asking") as report:
        result = app.evaluations.run({"engram": __version__}, keep=keep, tolerance=tolerance, progress=report)
    show(result, app.settings, as_json=as_json)
    if result.fell:
        sys.exit(1)


@eval_command.command("add")
@click.argument("question", help="What somebody would ask; - reads standard input.")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=OBSERVATION_ID, help="The observations that answer it.")
@click.option("--none", "silent", is_flag=True, help="Nothing here answers it: a search should find nothing.")
@click.option("--project", help="The project it is asked from; default: that of its first answer, else of this folder.")
@prints_result
def add_command(app: Engram, question: str, ids: tuple[int, ...], silent: bool, project: str | None) -> object:
    """Keep a question and the observations that answer it; again with another ID adds an answer."""
    return app.evaluations.add(text_argument(question), ids, silent=silent, project=project)


@eval_command.command("list")
@prints_result
def list_command(app: Engram) -> Listing:
    """List the questions."""
    return Listing("questions", app.evaluations.questions())


@eval_command.command("remove")
@click.argument("numbers", metavar="N...", nargs=-1, required=True, type=int, help="As `engram eval list` shows them.")
@prints_result
def remove_command(app: Engram, numbers: tuple[int, ...]) -> object:
    """Remove questions."""
    return app.evaluations.remove(numbers)
