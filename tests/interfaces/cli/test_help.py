"""What the command line says of itself."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from engram_py.interfaces.cli.main import COMMANDS, cli
from engram_py.version import __version__
from tests.interfaces.cli.conftest import Run, answer, refusal

PROMISED = """
mcp demo init save search get context timeline update delete pin unpin history sessions prompts review judge projects
stats doctor backup restore export import version
"""


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())


ALL = [pytest.param(command, id=name) for name, command in commands()]


@pytest.mark.parametrize("name", PROMISED.split())
def test_every_promised_command_is_there_and_explains_itself(run: Run, name: str) -> None:
    shown = run(name, "--help")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert f"Usage: engram {name}" in shown.stdout


@pytest.mark.parametrize("command", ALL)
def test_every_option_and_argument_has_help(command: click.Command) -> None:
    assert command.help
    silent = [param.name for param in command.params if not getattr(param, "help", None)]
    assert not silent


@pytest.mark.parametrize("command", ALL)
def test_every_command_but_the_server_answers_json(command: click.Command) -> None:
    options = {flag for param in command.params for flag in param.opts}
    assert ("--json" in options) == (command.name not in ("mcp", "serve", "hook", "tui"))


def test_the_list_of_commands_says_of_each_what_its_own_help_says_first(run: Run) -> None:
    listed = run("--help").stdout
    for name, (_, about) in COMMANDS.items():
        assert name in listed
        assert about.split()[0] in listed


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        pytest.param(["serach", "x"], "Did you mean 'search'?", id="transposed"),
        pytest.param(["projects", "lst"], "Did you mean 'list'?", id="of-a-group"),
        pytest.param(["search", "x", "--limt", "3"], "--limit", id="option"),
    ],
)
def test_what_is_typed_wrong_is_answered_with_what_it_resembles(run: Run, typed: list[str], meant: str) -> None:
    assert meant in refusal(run(*typed), code=2)
    assert "Did you mean" not in refusal(run("xyzzy"), code=2)


def test_the_version_is_said_in_both_forms(run: Run) -> None:
    assert run("version").stdout == f"{__version__}\n"
    assert answer(run("version", "--json")) == {"version": __version__}
    assert __version__ in run("--version").stdout
