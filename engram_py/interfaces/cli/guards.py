"""``engram guard`` gives decisions guards, lists and silences them; ``engram check`` looks at a diff, or at anchors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import (
    group,
    id_argument,
    json_command,
    limit_option,
    memory,
    print_notes,
    print_value,
    project_option,
    project_options,
    result_command,
    show,
)
from engram_py.interfaces.wording.render import to_json
from engram_py.memory.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram

guard_command = group(
    "guard",
    "Warn agents before they act against a decision; `engram check` reports violations. By default it lists them.",
    alone="list",
)


@result_command("list", of=guard_command)
@click.option("--offered", is_flag=True, help="Suggested guards that you have not accepted or declined.")
@limit_option(100, whole=True)
@project_options
def list_command(app: Engram, offered: bool = False, **options: Any) -> object:
    """List guards, how often each warned, and the results."""
    if offered:
        return Listing("offered", tuple(app.guards.offered(**options)))
    return Listing("guards", app.guards.listed(**options))


@result_command("add", id_argument, of=guard_command)
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Files that must not be edited; may be repeated.")
@click.option(
    "--deny",
    type=click.Choice(["edit", "write"]),
    help="edit: forbid edits of committed files (default). write: forbid new files too.",
)
@click.option("--command", default="", metavar="WORDS", help="A command that must not be run, as in 'npm *'.")
@click.option("--added", default="", metavar="TEXT", help="Text that must not be added.")
@click.option("--removed", default="", metavar="TEXT", help="Text that must not be removed.")
@click.option(
    "--in",
    "within",
    multiple=True,
    metavar="GLOB",
    help="Only in these files, for --added and --removed; may be repeated.",
)
@click.option(
    "--branch", default="", metavar="NAME", help="Only on this branch; without another rule: no edits or commits on it."
)
@click.option("--use", default="", metavar="TEXT", help="What to use instead.")
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@click.option("--strict", is_flag=True, help="Block the action instead of warning.")
def add_command(app: Engram, observation_id: int, deny: str | None, **rule: Any) -> object:
    """Give an observation a guard: --path, --command, --added or --removed, or only --branch.

    Globs are those of .gitignore, from the root of the repository. Symlinks and other spellings of a path match. Files
    written by a shell command are not checked. --command matches its words wherever a line runs them (`cd x && npm i`,
    `sudo`, `bash -c`), not inside quoted text; options match in any order. --added and --removed match whole words in
    added or removed lines. A regular expression may use only classes, groups, |, repeats, ^, $, and \\b at an end. If a
    tool rewrites a whole file, only `engram check` sees removed lines. A guard that matches more than half of the files
    changed in the last 200 commits is refused.

    \b
    engram guard add 12 --command 'npm *' --use pnpm
    engram guard add 14 --path 'migrations/**' --use "a new migration"
    engram guard add 15 --added 'import requests' --in '**/*.py' --use httpx
    """
    from engram_py.guidance.guards.values import Guard

    return app.guards.add(observation_id, Guard(**rule, deny=deny or ""))


@result_command("accept", id_argument, of=guard_command)
@click.option("--strict", is_flag=True, help="Block the action instead of warning.")
def accept_command(app: Engram, observation_id: int, strict: bool) -> object:
    """Turn on the guard that an observation's text suggests."""
    return app.guards.accept(observation_id, strict=strict)


@result_command("decline", id_argument, of=guard_command)
def decline_command(app: Engram, observation_id: int) -> object:
    """Remove an observation's guards and stop suggesting new ones."""
    return app.guards.decline(observation_id)


@result_command("remove", id_argument, of=guard_command)
@click.argument("number", required=False, type=int, help="The number of the guard; default: all of them.")
def remove_command(app: Engram, observation_id: int, number: int | None) -> object:
    """Remove guards of an observation."""
    return app.guards.remove(observation_id, number)


@result_command("off", id_argument, of=guard_command)
@click.option(
    "--session", "session_id", metavar="ID", help="The session; default: the current one, or the one warned last."
)
@click.option("--all", "everywhere", is_flag=True, help="In every open session of the project.")
def off_command(app: Engram, observation_id: int, session_id: str | None, everywhere: bool) -> object:
    """Silence the guards of an observation for a session. A guard silenced in three sessions is listed by `engram
    review`.
    """
    return app.guards.off(observation_id, session_id=session_id, everywhere=everywhere)


@result_command("on", id_argument, of=guard_command)
def on_command(app: Engram, observation_id: int) -> object:
    """Turn the guards of an observation on again wherever they were silenced."""
    return app.guards.on(observation_id)


@click.command("check")
@click.argument("what", nargs=-1, metavar="[A..B | FILE...]", help="The commits or files to check.")
@click.option("--staged", is_flag=True, help="Check the staged changes.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "github", "sarif"]),
    default="text",
    help="The format of the violations.",
)
@click.option("--memory", "review", is_flag=True, help="Report how A..B changes the memories in .engram.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if a memory is stale or may contradict another, or if no file could be checked.",
)
@project_option
@json_command
def check_command(
    what: tuple[str, ...],
    staged: bool,
    form: str,
    review: bool,
    strict: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """List observations whose files changed, or guard violations in a diff.

    Without arguments: list observations whose files changed. With --staged, A..B or files: list violations of guards,
    each with file, line, decision and author; the exit code is 1 if there are any. A..B compares B with the merge base
    of A and B; guards with only --branch are skipped. For files, every line counts as new.

    --memory reports, as a CI comment, what A..B adds, changes and removes in .engram/memories, which memories of A it
    may contradict, and which guards it violates. The database of this machine is not read.
    """
    if review:
        sys.exit(_reviewed(what, form=form, strict=strict, as_json=as_json))
    if what or staged:
        sys.exit(_guarded(what, staged=staged, form=form, as_json=as_json))
    with memory() as app:
        checked = app.anchors.check(project)
        show(checked, app.settings, as_json=as_json)
    if strict and (checked.stale or checked.blind):
        sys.exit(1)


def _reviewed(what: tuple[str, ...], *, form: str, strict: bool, as_json: bool) -> int:
    from engram_py.interfaces.wording import relations as words

    if len(what) != 1 or form == "sarif":
        raise click.UsageError("--memory takes one range, as in origin/main..HEAD, and prints text or github")
    with memory() as app:
        value = app.reviewing(what[0])
    text = words.review_annotations(value) if form == "github" else "\n".join(words.review(value))
    print_value(to_json(value, "cli"), text, as_json=as_json)
    broken = value.code is not None and bool(value.code.found)
    return int(broken or bool(value.unreadable) or (strict and bool(value.contradictions)))


def _guarded(what: tuple[str, ...], *, staged: bool, form: str, as_json: bool) -> int:
    with memory() as app:
        checked = app.guards.check(what, staged=staged)
        if form == "text":
            show(checked, app.settings, as_json=as_json)
            return int(bool(checked.found))
    from engram_py import __version__
    from engram_py.interfaces.wording.acting import github, sarif

    if form == "sarif":
        print_value(sarif(checked, __version__), "", as_json=True)
    elif checked.found:
        click.echo(github(checked))
    print_notes(checked.warnings)
    return int(bool(checked.found))
