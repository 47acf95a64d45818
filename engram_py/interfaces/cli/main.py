"""The ``engram`` command. A command's module is imported when it runs."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py import __version__
from engram_py.interfaces.cli.commands import value_command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Row = tuple[str, str, str]


class LazyGroup(click.Group):
    """A click group over ``table``; ``--help`` imports no command.

    ``table`` has for each command the module in ``engram_py.interfaces.cli`` that holds ``<name>_command``, what the
    group's help says of it, and an example without the program's name. With ``groups`` the help lists what is ``first``
    by what somebody wants to do.
    """

    def __init__(
        self,
        *args: Any,
        table: Mapping[str, Row],
        groups: Mapping[str, Mapping[str, Row]] | None = None,
        first: Collection[str] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **attributes)
        self.table = table
        self.groups = groups or {"Commands": table}
        self.first = first or tuple(table)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.table:
            return None
        module, _, example = self.table[name]
        command: click.Command = getattr(
            importlib.import_module(f"engram_py.interfaces.cli.{module}"), f"{name.replace('-', '_')}_command"
        )
        command.epilog = f"Example: {self._program(ctx)} {example}"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._list(formatter, self.first)
        left_out = sum(map(len, self.groups.values())) - len(self.first)
        if left_out:
            formatter.write_paragraph()
            formatter.write_text(f"`engram help --all` lists {left_out} more, `engram help COMMAND` explains one.")

    def every_command(self, ctx: click.Context) -> str:
        """Return the list of all commands, as the help shows some."""
        formatter = ctx.make_formatter()
        self._list(formatter, self.table)
        return formatter.getvalue().strip("\n")

    def _list(self, formatter: click.HelpFormatter, names: Collection[str]) -> None:
        for group, table in self.groups.items():
            if rows := [(name, about) for name, (_, about, _) in table.items() if name in names]:
                with formatter.section(group):
                    formatter.write_dl(rows, col_max=16)

    def _program(self, ctx: click.Context) -> str:
        return ctx.command_path if ctx.info_name else "engram"

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        begun = [(name, about) for name, (_, about, _) in self.table.items() if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=about) for name, about in begun]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.exceptions.NoSuchCommand as exc:  # click knows only the commands that were imported
            raise click.exceptions.NoSuchCommand(args[0], possibilities=self.table, ctx=ctx) from exc


HIDDEN = "For programs"  # left out of every help
# What somebody wants to do → command → (module, what the help says of it, an example).
# fmt: off
GROUPS: dict[str, dict[str, tuple[str, str, str]]] = {
    "Every day": {
        "save": ("observations", "Save an observation.", 'save "Tests need redis" "Start it with make redis."'),
        "search": ("recall", "Search by words, a question, a topic key or #id.", 'search "why did we drop redis"'),
        "get": ("observations", "Print an observation whole.", "get 12"),
        "list": ("recall", "List observations, latest change first.", "list --type decision"),
        "edit": ("observations", "Edit an observation in your editor.", "edit 12"),
        "undo": ("observations", "Undo the last change: a save, edit, deletion, move, pin or verdict.", "undo"),
        "context": ("recall", "Print what a new session would be given.", "context"),
        "why": ("recall", "Show what an agent gets for a prompt, and why.", 'why "How do we deploy?"'),
        "note": ("documents", "Append a note to today's, or print those of a day.", 'note "Ada owns billing"'),
        "open": ("servers", "Show the memory, and what agents were given, in a browser.", "open"),
    },
    "Memory": {
        "review": ("observations", "List memories that are due for review, or confirm one.", "review"),
        "supersede": (
            "entities",
            "Replace an observation by another one.",
            'supersede 52 17',
        ),
        "delete": (
            "observations",
            "Hide observations, or all of a session or project; --hard destroys.",
            "delete 12",
        ),
        "update": ("observations", "Correct an observation.", "update 12 --title Queues"),
        "revert": ("observations", "Bring back an earlier text of an observation.", "revert 12 --version 1"),
        "history": ("observations", "Print an observation's earlier versions.", "history 12"),
        "timeline": ("observations", "Print what was saved around an observation.", "timeline 12"),
        "undelete": ("observations", "Bring back what was deleted without --hard.", "undelete 12"),
        "archive": ("observations", "Take observations out of searches and contexts.", "archive 12 13"),
        "unarchive": ("observations", "Take observations out of the archive.", "unarchive 12"),
        "pin": ("observations", "Keep an observation on top of the context.", "pin 12"),
        "unpin": ("observations", "Stop keeping an observation on top.", "unpin 12"),
        "retag": ("observations", "Give several observations another type or scope.", "retag 12 13 --type decision"),
        "move": ("observations", "Move observations to another project.", "move 12 --to shop"),
        "fixes": ("recall", "List fixes of commands that failed.", "fixes"),
        "accept": ("observations", "Make derived or imported observations your own.", "accept 12"),
        "conflicts": ("entities", "List pairs that may contradict, judge them, look for more.", "conflicts"),
        "hot": ("recall", "List the memories that are used most.", "hot"),
        "tui": ("servers", "Show the memory in this terminal: memories, sessions, search, review.", "tui"),
    },
    "What it knows": {
        "fact": ("entities", "Keep facts about entities, a sentence each.", "fact list ada"),
        "entity": ("entities", "Show, connect and merge entities.", "entity show ada"),
        "identity": (
            "entities",
            "Keep facts and preferences about you, and your profile.",
            'identity add "I prefer TypeScript"',
        ),
        "collection": ("documents", "Index documents: git history, docs, folders.", "collection list"),
        "tour": ("documents", "Show questions that this repository already answers.", "tour"),
        "vault": (
            "documents",
            "Keep the memory as a folder of Markdown files.",
            "vault status",
        ),
        "ingest": ("sessions", "Keep a whole conversation of another program.", "ingest chat.json"),
        "checkpoint": ("sessions", "Keep the state of an agent; searches do not find it.", "checkpoint list"),
        "eval": ("recall", "Run your own retrieval tests; add, list, remove them.", "eval"),
    },
    "Project": {
        "init": ("projects", "Write .engram.json: which project this folder is.", "init shop"),
        "projects": ("projects", "List, merge, rename and prune projects.", "projects list"),
        "check": ("guards", "List memories whose files changed, or guard violations in a diff.", "check --staged"),
        "guard": ("guards", "Warn agents before they act against a decision.", "guard add 12 --command 'npm *'"),
    },
    "Agents": {
        "setup": ("setup", "Put engram into coding agents: server, hooks, instructions.", "setup cursor --dry-run"),
        "unsetup": ("setup", "Remove engram from a coding agent.", "unsetup cursor"),
        "sessions": ("sessions", "List sessions.", "sessions"),
        "prompts": ("sessions", "List or search what users asked for.", "prompts deploy"),
        "turns": ("sessions", "List the messages that hooks kept.", "turns"),
        "agents": ("sessions", "List the agents whose sessions are kept.", "agents"),
        "flush": ("sessions", "Summarize sessions that left no summary, now.", "flush"),
        "cost": ("costs", "Show how many tokens the memory takes.", "cost"),
        "ab": ("recall", "Compare your agent with and without the memory.", "ab --dry-run"),
        "worth": ("costs", "Show how agents used the memories they got.", "worth"),
        "off": ("projects", "Stop hooks, or only recording or injecting.", "off --record"),
        "on": ("projects", "Turn hooks on again.", "on"),
        "mcp": ("servers", "Run the MCP server on stdin and stdout.", "mcp"),
        "serve": ("servers", "Serve the memory over HTTP, on this machine only.", "serve 7437"),
    },
    "Share": {
        "sync": ("sync", "Share memory through this git repository.", "sync"),
        "cloud": ("sync", "Share memory through a server, or run one for a team.", "cloud status"),
        "trust": ("projects", "List where memories came from, and trust their authors.", "trust"),
        "key": ("projects", "Show, export or import the key that signs what is yours.", "key show"),
        "export": ("interchange", "Write everything as JSON that the original Engram reads too.", "export memory.json"),
        "import": ("interchange", "Read an export of this program or of the original Engram.", "import memory.json"),
    },
    "Upkeep": {
        "doctor": ("upkeep", "Check the database; --fix repairs what can be rebuilt.", "doctor"),
        "config": ("setup", "List, show and set the settings of this machine.", "config list"),
        "backup": ("upkeep", "Copy the database while it is in use.", "backup"),
        "restore": ("upkeep", "Replace the database by a backup.", "restore engram.backup"),
        "stats": ("projects", "Count the rows of the memory.", "stats"),
        "maintain": ("upkeep", "Run upkeep now.", "maintain"),
        "runs": ("upkeep", "List what upkeep did.", "runs"),
        "vectors": ("vectors", "Turn semantic search on or off, or show its state.", "vectors status"),
        "reindex": ("upkeep", "Rebuild the search index while others work.", "reindex"),
        "encrypt": ("encryption", "Encrypt the memory on this disk.", "encrypt"),
        "decrypt": ("encryption", "Decrypt the memory.", "decrypt"),
        "rekey": ("encryption", "Give an encrypted memory a new key.", "rekey"),
        "clear": ("projects", "Destroy raw messages, a project, or everything.", "clear turns"),
        "completion": ("main", "Print the completion script of a shell.", "completion bash"),
        "version": ("main", "Print the version.", "version"),
        "help": ("main", "Print what a command does, or list all of them.", "help save"),
        "demo": ("demo", "Show an example: two sessions that share one memory.", "demo"),
    },
    HIDDEN: {
        "judge": ("entities", "The same as conflicts judge.", "judge"),
        "merge-memory": ("sync", "Merge two edits of a memory for git.", "merge-memory old.md mine.md theirs.md"),
        "hook": (
            "setup",
            "Answer an agent's hook.",
            "hook session-start --agent cursor",
        ),
        "protocol-mode": ("setup", "Print the mode of Engram's plugin: full or slim.", "protocol-mode claude-code"),
        "session": ("sessions", "End sessions that were left open.", "session end --by-age 30d"),
        "instance-id": ("servers", "Print the id of this database.", "instance-id"),
        "recent": ("recall", "The same as list.", "recent"),
    },
}
# fmt: on
COMMANDS = {name: row for rows in GROUPS.values() for name, row in rows.items()}
# What `engram --help` begins with; `engram help --all` lists the rest.
FIRST = (
    "save", "search", "get", "list", "edit", "undo", "context", "why", "note", "open", "review", "supersede", "delete",
    "identity", "collection", "init", "projects", "setup", "unsetup", "sessions", "sync", "export", "import", "doctor",
    "config",
)  # fmt: skip


INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    groups={name: rows for name, rows in GROUPS.items() if name != HIDDEN},
    first=FIRST,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="engram")
@click.option(
    "--data-dir",
    type=click.Path(path_type=str),
    help="Where the memory lives; default: ENGRAM_DATA_DIR, else the platform's data directory.",
)
@click.pass_context
def cli(ctx: click.Context, data_dir: str | None) -> None:
    """Memory for coding agents: what one session learned, the next one finds.

    Results go to standard output, everything else to standard error. Exit codes: 0 done, 1 refused, 2 wrong usage.
    """
    ctx.obj = data_dir


@value_command("help")
@click.argument("command", nargs=-1, help="The command, and its subcommand.")
@click.option("--all", "everything", is_flag=True, help="List every command.")
def help_command(command: tuple[str, ...], everything: bool) -> tuple[object, str]:
    """Print what a command does, or list the commands: the usual ones, or all."""
    ctx = click.Context(cli, info_name="engram")
    if everything:
        return {name: about for rows in cli.groups.values() for name, (_, about, _) in rows.items()}, cli.every_command(
            ctx
        )
    found: click.Command = cli
    for name in command:
        inner = found.get_command(ctx, name) if isinstance(found, click.Group) else None
        if inner is None:
            raise click.UsageError(f"there is no command {' '.join(command)}; `engram help --all` lists them")
        found, ctx = inner, click.Context(inner, info_name=name, parent=ctx)
    return {"command": ctx.command_path, "help": found.help}, found.get_help(ctx)


@value_command("version")
def version_command() -> tuple[object, str]:
    """Print the version, and in a checkout the commit."""
    commit = _commit()
    said = f"{__version__} ({commit[:8]})" if commit else __version__
    return {"version": __version__, "commit": commit or None}, said


def _commit() -> str:
    """Return the commit of the checkout that this program runs from, empty where it was installed."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists() or not (root / "pyproject.toml").exists():
        return ""
    from engram_py.base.git.repository import find_repository

    repository = find_repository(root)
    return (repository.commit if repository else None) or ""


@value_command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="The shell to complete in.")
def completion_command(shell: str) -> tuple[object, str]:
    """Print the script that completes commands and options with the Tab key.

    \b
    bash: engram completion bash > ~/.local/share/bash-completion/completions/engram
    zsh: engram completion zsh > a folder of $fpath, as _engram
    fish: engram completion fish > ~/.config/fish/completions/engram.fish
    """
    from click.shell_completion import get_completion_class

    completes = get_completion_class(shell)
    assert completes is not None
    script = completes(cli, {}, "engram", "_ENGRAM_COMPLETE").source()
    return {"shell": shell, "script": script}, script


def run() -> int:
    """Run the command of this process and return its exit code."""
    try:
        # click itself ends quietly when nobody reads the output any more (`engram search x | head -1`).
        return cli.main(prog_name="engram", standalone_mode=False) or 0
    except click.ClickException as exc:
        exc.show()
        return exc.exit_code
    except click.Abort:  # Ctrl-C
        return INTERRUPTED
    except OSError as exc:
        if exc.errno != errno.ENOSPC:
            raise
        # What Python still holds back must not fail again when it is flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        click.echo(f"engram: cannot write: {exc.strerror}", file=sys.stderr)
        return 1
