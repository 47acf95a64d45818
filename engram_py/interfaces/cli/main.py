"""The ``engram`` command. A command's module is imported when it runs."""

from __future__ import annotations

import errno
import os
import sys

import click

from engram_py.interfaces.cli.commands import LazyGroup, value_command
from engram_py.version import __version__

# command → (module, what `engram --help` says of it)
COMMANDS: dict[str, tuple[str, str]] = {
    "mcp": ("servers", "Run the MCP server on stdin and stdout."),
    "serve": ("servers", "Serve the memory over HTTP, on this machine only."),
    "open": ("servers", "Show what is remembered, and what agents were given, in a browser."),
    "tui": ("servers", "Show the same in this terminal: memories, sessions, search, review."),
    "demo": ("demo", "Show the whole story: two server processes, one memory."),
    "hook": ("setup", "Answer an agent's hook; agents run this, people do not."),
    "init": ("projects", "Write .engram.json: which project this folder is."),
    "save": ("observations", "Save an observation."),
    "search": ("recall", "Search by words, a question, a topic key or #id."),
    "collection": ("documents", "Index documents: git history, docs, folders."),
    "tour": ("documents", "Show what this repository answers already."),
    "fact": ("entities", "Keep facts about entities, a sentence each."),
    "note": ("documents", "Append a note to today's, or print those of a day."),
    "vault": ("documents", "The memory as a folder of Markdown: write it, take edits back."),
    "identity": ("entities", "Keep what holds of you always, and your profile."),
    "checkpoint": ("sessions", "Keep the state of an agent, out of every search."),
    "entity": ("entities", "Show what has a name here; connect and join."),
    "list": ("recall", "List observations, latest change first."),
    "recent": ("recall", "The same as list."),
    "get": ("observations", "Print an observation whole."),
    "context": ("recall", "Print what a new session would be given."),
    "timeline": ("observations", "Print what was saved around an observation."),
    "update": ("observations", "Correct an observation."),
    "edit": ("observations", "Edit an observation in your editor."),
    "undo": ("observations", "Bring back a deleted observation, or the text it had before."),
    "revert": ("observations", "Bring back an earlier text of an observation."),
    "retag": ("observations", "Give several observations another type or scope."),
    "delete": ("observations", "Hide observations, or destroy them with --hard; delete a session or a project."),
    "undelete": ("observations", "Bring back what was deleted without --hard."),
    "archive": ("observations", "Put observations away, out of searches and contexts."),
    "unarchive": ("observations", "Take observations out of the archive."),
    "move": ("observations", "Give observations to another project."),
    "pin": ("observations", "Keep an observation on top of the context."),
    "unpin": ("observations", "Stop keeping an observation on top."),
    "history": ("observations", "Print an observation's earlier versions."),
    "sessions": ("sessions", "List sessions."),
    "prompts": ("sessions", "List or search what users asked for."),
    "turns": ("sessions", "List what was kept of conversations."),
    "ingest": ("sessions", "Keep a whole conversation of another program."),
    "agents": ("sessions", "List the agents whose sessions are kept."),
    "flush": ("sessions", "Summarize sessions that left no summary, now."),
    "review": ("observations", "List what is due for review, or confirm one."),
    "accept": ("observations", "Make derived or foreign observations your own."),
    "trust": ("projects", "List where memories came from; make those of others your own."),
    "check": ("observations", "List observations whose files changed under them."),
    "judge": ("relations", "List relations without a verdict, or give one."),
    "supersede": ("relations", "Say that an observation takes the place of another."),
    "conflicts": ("relations", "List relations, count them, and look for pairs nobody compared."),
    "why": ("recall", "Say what a prompt, or a failure, is given unasked, and why."),
    "fixes": ("recall", "List what made commands pass that had failed."),
    "projects": ("projects", "List, merge, rename and prune projects."),
    "stats": ("upkeep", "Count what is kept."),
    "cost": ("upkeep", "Show what the memory takes of agents' context."),
    "eval": ("recall", "Run your own retrieval tests; add, list, remove them."),
    "maintain": ("upkeep", "Tend the memory now: fade, merge, archive, summarize."),
    "runs": ("upkeep", "List what upkeep did."),
    "hot": ("upkeep", "List what is used most."),
    "reindex": ("upkeep", "Rebuild the search index while others work."),
    "vectors": ("upkeep", "Find what is said in other words: on, off, or how far it is."),
    "doctor": ("upkeep", "Check the database; --fix repairs what is derived."),
    "backup": ("upkeep", "Copy the database while it is in use."),
    "encrypt": ("upkeep", "Encrypt the memory on this disk."),
    "decrypt": ("upkeep", "Make an encrypted memory plain again."),
    "rekey": ("upkeep", "Give an encrypted memory a new key."),
    "restore": ("upkeep", "Put a backup in the database's place."),
    "export": ("upkeep", "Write everything as JSON that Engram reads too."),
    "import": ("upkeep", "Read an export of Engram or of this program."),
    "sync": ("sync", "Share memory through this git repository."),
    "cloud": ("sync", "Share memory through a server, or run one for a team."),
    "config": ("setup", "List, show and set the settings of this machine."),
    "off": ("projects", "Stop hooks: all of them, recording or injecting."),
    "on": ("projects", "Let hooks go on."),
    "clear": ("projects", "Destroy raw messages, a project, or everything."),
    "setup": ("setup", "Put engram into coding agents: server, hooks, instructions."),
    "unsetup": ("setup", "Take engram out of a coding agent, byte for byte."),
    "completion": ("main", "Print the completion script of a shell."),
    "protocol-mode": ("setup", "Print how much Engram's own hooks shall say."),
    "instance-id": ("upkeep", "Print the name of this database."),
    "version": ("main", "Print the version."),
}


INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


@click.group(cls=LazyGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
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


@value_command("version")
def version_command() -> tuple[object, str]:
    """Print the version."""
    return {"version": __version__}, __version__


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
