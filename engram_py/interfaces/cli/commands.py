"""How commands are made: options, settings, the open memory, refusals, groups; and what they print, their progress,
what they ask.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.base.database.errors import DataDirError
from engram_py.base.dataclass import is_dataclass, replace
from engram_py.base.errors import EmbedderError, EngramError, NotConfirmedError
from engram_py.base.files import expanded, here
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import visible
from engram_py.interfaces.operations import OBSERVATION

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.reasons import Told
    from engram_py.base.settings import Settings
    from engram_py.interfaces.operations import Operation, Parameter


Options = Callable[[Callable[..., Any]], Callable[..., Any]]
Command = Callable[[Callable[..., Any]], click.Command]


def show(value: object, settings: Settings, *, as_json: bool) -> None:
    """Print a result: JSON, a table on a terminal, or plain text; what is not the result goes to stderr."""
    from engram_py.interfaces.wording import render

    if as_json:
        print_value(render.to_json(value, "cli"), "", as_json=True)
        return
    now = local_now(settings)
    notes = getattr(value, "warnings", ())
    if notes and is_dataclass(value) and not isinstance(value, type):
        value = replace(value, warnings=())
    if sys.stdout is None or not sys.stdout.isatty():
        text = render.text(value, now=now, door="cli", full=True)
        click.echo(text, nl=bool(text))
    else:
        from engram_py.interfaces.cli.tables import print_table

        if not print_table(value, now):
            click.echo(visible(render.text(value, now=now, door="cli", full=True)))
    print_notes(notes)


def print_notes(notes: Iterable[Told]) -> None:
    """Print notes on stderr."""
    from engram_py.interfaces.wording.reasons import spelled

    for note in notes:
        click.echo(f"note: {visible(spelled(note, 'cli'))}", err=True)


def print_value(value: object, text: str, *, as_json: bool) -> None:
    """Print a value as JSON, or ``text`` in its place."""
    if not as_json:
        click.echo(visible(text))
        return
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def local_now(settings: Settings) -> datetime:
    """Return the present time in the display zone."""
    return settings.clock().astimezone(settings.zone)


def can_ask() -> bool:
    """Return whether standard input is a terminal, so that somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirmed(what: str, *, yes: bool) -> bool:
    """Return whether the user agrees to ``what``. Raises NotConfirmedError when nobody can be asked."""
    if yes:
        return True
    try:
        return click.confirm(f"{what[:1].upper()}{what[1:]}?", err=True)
    except click.Abort:
        if can_ask():  # Ctrl-C
            raise
        click.echo(err=True)
        raise NotConfirmedError(what) from None


def confirm(what: str, *, yes: bool) -> None:
    """Ask whether to do ``what``. Raises NotConfirmedError for a no as well."""
    if not confirmed(what, yes=yes):
        raise NotConfirmedError(what, answered=True)


def text_argument(value: str) -> str:
    """Return an argument, or standard input for ``-``."""
    if value != "-":
        return value
    return sys.stdin.read() if sys.stdin is not None else ""


_ID = regex(r"\[?#?(-?[0-9]{1,30})\]?")


class _ObservationId(click.ParamType[int]):
    """An observation's number, with or without the # that answers show."""

    name = "id"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = _ID.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{str(value)[:80]!r} is not an observation id such as 12", param, ctx)
        return int(match[1])


OBSERVATION_ID = _ObservationId()
_KINDS: dict[Any, Any] = {list: str, OBSERVATION: OBSERVATION_ID}


STREAM = Path("-")  # standard input or output, in the place of a path


class _Path(click.Path):
    """An absolute path: a relative one begins at the working directory, ``~`` at home though no shell expanded it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = expanded(str(super().convert(value, param, ctx)))
        return path if path == STREAM else here() / path


PATH = _Path(path_type=Path)

id_argument = click.argument("observation_id", metavar="ID", type=OBSERVATION_ID, help="Its number, as in 12 or #12.")
ids_argument = click.argument(
    "ids", nargs=-1, required=True, metavar="ID...", type=OBSERVATION_ID, help="Their numbers."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
project_option = click.option("--project", help="The project; default: the project of this folder.")
one_project_option = click.option("--project", help="Only this project; default: all of them.")
all_option = click.option("--all", "all_projects", is_flag=True, help="Every project.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Print what would be changed, and change nothing.")
vectors_option = click.option(
    "--vectors/--no-vectors",
    default=None,
    help="Turn on semantic search (a download of about 70 MB, 180 MB on disk); default: ask once.",
)
scope_option = click.option("--scope", help="project, personal or global.")


def options_of(operation: Operation[Any]) -> Options:
    """Add the arguments and options of an operation, those that commands have."""
    return functools.partial(
        _with, [_option(parameter) for parameter in operation.parameters if parameter.option is not None]
    )


def _with(options: Sequence[Options], function: Callable[..., Any]) -> Callable[..., Any]:
    return functools.reduce(lambda made, add: add(made), reversed(options), function)


def _option(parameter: Parameter) -> Options:
    kind, several = _KINDS.get(parameter.kind, parameter.kind), parameter.kind is list
    help, read = parameter.description, None
    if parameter.stdin:
        help = f"{help.removesuffix('.')}; - reads standard input."
        read = _read_text
    if parameter.needed and not parameter.option:
        metavar = "ID" if parameter.kind is OBSERVATION else None
        many = -1 if several else 1
        return click.argument(
            parameter.name, metavar=metavar, help=help, type=kind, nargs=many, required=True, callback=read
        )
    words = (parameter.option or f"--{parameter.name.replace('_', '-')}").split()
    flags = [word for word in words if word.startswith("-")]
    return click.option(
        *flags,
        parameter.name,
        help=help,
        callback=read,
        type=click.Choice(parameter.choices) if parameter.choices else kind,
        is_flag=parameter.kind is bool,
        multiple=several,
        metavar=" ".join(words[len(flags) :]) or None,
        default=parameter.default,
        show_default=parameter.default is not None and not parameter.choices,
        required=parameter.needed,
    )


def _read_text(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    return value if value is None or ctx.resilient_parsing else text_argument(value)  # a completion reads nothing


def project_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --project and --all."""
    return project_option(all_option(function))


# The field that holds the rows, of the results that are lists.
_ROWS = ("items", "entities", "runs", "relations", "files")


def limit_option(default: int, *, paged: bool = False, whole: bool = False) -> Options:
    """Add --limit and --page; what they leave out is said in one way. The function takes ``limit``, with ``paged``
    ``offset`` too, with ``whole`` neither: it returns all rows."""
    limit_of = click.option("--limit", type=int, default=default, show_default=True, help="Most results.")
    page_of = click.option("--page", type=click.IntRange(min=1), default=1, help="The first page is 1.")

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*args: Any, limit: int = default, page: int = 1, **options: Any) -> Any:
            asked = functools.partial(function, *args, **options)
            offset = (page - 1) * max(limit, 1)
            if paged:
                found = asked(limit=limit, offset=offset)
                return _saying_what_is_left(found, page, offset, limit, getattr(found, "total", None))
            if whole:
                found = asked()
                return _cut(found, page, offset, limit, len(_rows(found)))
            end = offset + max(limit, 1)
            found = asked(limit=end if page > 1 else limit)
            full = len(_rows(found)) >= end and len(_rows(asked(limit=end + 1))) <= end
            return _cut(found, page, offset, limit, end if full else None)

        return limit_of(page_of(run))

    return add


def _rows(found: object) -> Sequence[Any]:
    name = next((one for one in _ROWS if hasattr(found, one)), "")
    rows: Sequence[Any] = getattr(found, name) if name else ()
    return rows


def _cut(found: Any, page: int, offset: int, limit: int, total: int | None) -> Any:
    """Return a result with the rows of one page."""
    name = next((one for one in _ROWS if hasattr(found, one)), "")
    if not name:  # one thing was asked for
        return found
    rows = getattr(found, name)[offset : offset + max(limit, 1)]
    return _saying_what_is_left(replace(found, **{name: rows}), page, offset, limit, total)


def _saying_what_is_left(found: Any, page: int, offset: int, limit: int, total: int | None) -> Any:
    """Return a result with a note on what it leaves out, or print that beside one that holds no notes."""
    note = left_out(len(_rows(found)), page, offset, limit, total)
    if not note:
        return found
    if hasattr(found, "warnings"):
        return replace(found, warnings=(*found.warnings, note))
    print_notes([note])
    return found


def left_out(rows: int, page: int, offset: int, limit: int, total: int | None) -> str:
    """``20 of 7,143; --page 2 shows the next``; empty where nothing is left out."""
    last = offset + rows
    if not rows or (rows < limit if total is None else last >= total):
        return ""
    shown = f"{offset + 1:,}-{last:,}" if offset else f"{last:,}"
    said = f"{shown} of {total:,}" if total is not None else f"{shown} of more" if offset else f"the first {shown}"
    return f"{said}; `--page {page + 1}` shows the next, `--limit N` more"


def many_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what changes of several observations take: --where, --project, --all, --yes, --dry-run."""
    where = click.option(
        "--where", metavar="FILTERS", help="The observations that match filters: 'type:note until:7d'."
    )
    return where(project_options(yes_option(dry_run_option(function))))


_TOLD = "engram.notes_of_settings"


def settings() -> Settings:
    """Return the settings with ``--data-dir`` applied; warnings go to stderr, once a command."""
    from engram_py.base.settings import load_settings

    root = click.get_current_context().find_root()
    loaded = load_settings(data_dir=_absolute(root.obj) if root.obj else None)
    told = root.meta.setdefault(_TOLD, set())
    print_notes(note for note in loaded.warnings if note not in told)
    told.update(loaded.warnings)
    return loaded


@contextmanager
def memory(**changes: Any) -> Iterator[Engram]:
    """Open the memory for the project of the working directory; ``changes`` are settings of this call.

    What the call wrote has vectors when it ends, where an embedder is set: no server may be there to compute them.
    """
    from engram_py.app import Engram

    with Engram(settings=replace(settings(), warnings=(), **changes), directory=here(), agent="cli") as app:
        before = _without_vectors(app)
        print_notes(app.store.tell())
        yield app
        if before is not None and (_without_vectors(app) or 0) > before:
            from engram_py.interfaces.cli.progress import compute_vectors

            try:
                print_notes(compute_vectors(app).warnings)
            except EmbedderError as exc:
                click.echo(f"note: {visible(exc.message)}; {visible(exc.hint)}", err=True)


def _without_vectors(app: Engram) -> int | None:
    """Return how many texts lack vectors, None where no embedder is set that could be asked."""
    try:
        return sum(app.vectors.pending()) if app.settings.embedder else None
    except EmbedderError:
        return None


def _absolute(folder: str) -> Path:
    try:
        return here() / Path(folder).expanduser()
    except RuntimeError as exc:  # ~somebody, who has no home here
        raise DataDirError(folder, str(exc)) from exc


def refusing(function: Callable[..., None]) -> Callable[..., None]:
    """Turn an EngramError into its message on stderr and its exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except EngramError as exc:
            from engram_py.interfaces.wording.render import error_text, error_values, person_text

            if kwargs.get("as_json"):
                import json

                click.echo(json.dumps(error_values(exc, "cli"), ensure_ascii=False))
            at_terminal = sys.stderr is not None and sys.stderr.isatty()
            click.echo(f"engram: {visible(person_text(exc)) if at_terminal else error_text(exc, 'cli')}", err=True)
            sys.exit(exc.exit_code)

    return run


def json_command(function: Callable[..., None]) -> Callable[..., None]:
    """Add --json, and turn an EngramError into its message and exit code."""
    return json_option(refusing(function))


def result_command(name: str, *options: Options, of: click.Group | None = None, **attributes: Any) -> Command:
    """Make a command of a function: pass it the open memory, and print what it returns unless that is None.

    The command takes ``options`` before those that decorate the function, and --json as well. ``of`` is the group that
    it belongs to.
    """

    def shown(function: Callable[..., object], as_json: bool, *args: Any, **options: Any) -> None:
        with memory() as app:
            value = function(app, *args, **options)
            if value is not None:
                show(value, app.settings, as_json=as_json)

    return functools.partial(_command, shown, name, options, of, attributes)


def value_command(name: str, *options: Options, of: click.Group | None = None) -> Command:
    """Make a command of a function: print the value it returns as JSON, or else the text beside it."""

    def shown(function: Callable[..., tuple[object, str]], as_json: bool, *args: Any, **options: Any) -> None:
        value, text = function(*args, **options)
        print_value(value, text, as_json=as_json)

    return functools.partial(_command, shown, name, options, of, {})


def _command(
    shown: Callable[..., None],
    name: str,
    options: Sequence[Options],
    of: click.Group | None,
    attributes: Any,
    function: Any,
) -> click.Command:
    function = _with(options, function)

    @functools.wraps(function)
    def run(*args: Any, as_json: bool, **options: Any) -> None:
        shown(function, as_json, *args, **options)

    given = getattr(function, "__click_params__", [])
    run.__dict__["__click_params__"] = []
    made = json_command(run)
    made.__dict__["__click_params__"] += given  # click reverses them: --json is the last
    made_command: click.Command = (of or click).command(name, **attributes)(made)
    return made_command


def group(name: str, help: str, *, alone: str | None = None, **attributes: Any) -> click.Group:
    """Return a command group with --json, which runs the command ``alone`` when none is named."""

    @click.group(name, help=help, invoke_without_command=alone is not None, **attributes)
    @json_option
    @click.pass_context
    def run(ctx: click.Context, as_json: bool) -> None:
        if not pass_json_on(ctx, as_json=as_json) and alone is not None:
            ctx.invoke(run.commands[alone], as_json=as_json)

    made: click.Group = run
    return made


def pass_json_on(ctx: click.Context, *, as_json: bool) -> bool:
    """Return whether a group was called with a command, which then prints as the group was told to.

    ``engram projects --json merge`` means what ``engram projects merge --json`` does.
    """
    if ctx.invoked_subcommand is not None and as_json:
        ctx.default_map = {ctx.invoked_subcommand: {"as_json": True}}
    return ctx.invoked_subcommand is not None
