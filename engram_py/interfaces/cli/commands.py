"""How commands are made: options, settings, the open memory, refusals, results, groups."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.database.errors import DataDirError
from engram_py.dataclass import replace
from engram_py.errors import EngramError
from engram_py.files import expanded
from engram_py.interfaces.cli.terminal import print_value, show
from engram_py.lazy import regex

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from engram_py.app import Engram
    from engram_py.settings import Settings


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


class _Path(click.Path):
    """A path in which ``~`` is the home directory also where no shell has expanded it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return expanded(str(super().convert(value, param, ctx)))


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
scope_option = click.option("--scope", help="project, personal or global.")


def project_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --project and --all."""
    return project_option(all_option(function))


def limit_option(default: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option("--limit", type=int, default=default, show_default=True, help="Most results.")


def many_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what changes of several observations take: --where, --project, --all, --yes, --dry-run."""
    where = click.option(
        "--where", metavar="FILTERS", help="The observations that match filters: 'type:note until:7d'."
    )
    return where(project_options(yes_option(dry_run_option(function))))


def settings() -> Settings:
    """Return the settings with ``--data-dir`` applied; warnings go to stderr."""
    from engram_py.settings import load_settings

    data_dir = click.get_current_context().find_root().obj
    loaded = load_settings(data_dir=_absolute(data_dir) if data_dir else None)
    for warning in loaded.warnings:
        click.echo(f"note: {warning}", err=True)
    return loaded


@contextmanager
def memory(**changes: Any) -> Iterator[Engram]:
    """Open the memory for the project of the working directory; ``changes`` are settings of this call."""
    from engram_py.app import Engram

    with Engram(settings=replace(settings(), warnings=(), **changes), directory=here(), agent="cli") as app:
        yield app


def here() -> Path:
    """Return the working directory; where it was, when somebody removed it meanwhile."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or "/")


def _absolute(folder: str) -> Path:
    try:
        return here() / Path(folder).expanduser()
    except RuntimeError as exc:  # ~somebody, who has no home here
        raise DataDirError(folder, str(exc)) from exc


def refusing(function: Callable[..., None]) -> Callable[..., None]:
    """Turn an EngramError into its message on stderr and exit code 1."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except EngramError as exc:
            from engram_py.interfaces.wording.render import error_text

            if kwargs.get("as_json"):
                import json

                click.echo(json.dumps(exc.details(), ensure_ascii=False))
            click.echo(f"engram: {error_text(exc)}", err=True)
            sys.exit(1)

    return run


def json_command(function: Callable[..., None]) -> Callable[..., None]:
    """Add --json, and turn an EngramError into its message and exit code 1."""
    return json_option(refusing(function))


def prints_result(function: Callable[..., object]) -> Callable[..., None]:
    """Make a ``json_command`` of a function: pass it the open memory, and print what it returns unless that is None."""

    @json_command
    @functools.wraps(function)
    def run(*args: Any, as_json: bool, **options: Any) -> None:
        with memory() as app:
            value = function(app, *args, **options)
            if value is not None:
                show(value, app.settings, as_json=as_json)

    return run


def prints_value(function: Callable[..., tuple[object, str]]) -> Callable[..., None]:
    """Make a ``json_command`` of a function: print the value it returns as JSON, or else the text beside it."""

    @json_command
    @functools.wraps(function)
    def run(*args: Any, as_json: bool, **options: Any) -> None:
        value, text = function(*args, **options)
        print_value(value, text, as_json=as_json)

    return run


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


class LazyGroup(click.Group):
    """A click group over ``table``; ``--help`` imports no command.

    ``table`` has for each command the module in ``engram_py.interfaces.cli`` that holds ``<name>_command``, and what
    the group's help says of it.
    """

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.table:
            return None
        module = importlib.import_module(f"engram_py.interfaces.cli.{self.table[name][0]}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.table.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        begun = [(name, about) for name, (_, about) in self.table.items() if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=about) for name, about in begun]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as exc:  # click knows only the commands that were imported
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.table, ctx=ctx) from exc
