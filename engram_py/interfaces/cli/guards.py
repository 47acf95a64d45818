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
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram

guard_command = group(
    "guard",
    "What decisions speak against: said before an agent's tool does it, and by `engram check`. Alone it lists them.",
    alone="list",
)


@result_command("list", guard_command)
@click.option("--offered", is_flag=True, help="Those that texts offer and nobody answered.")
@limit_option(100, whole=True)
@project_options
def list_command(app: Engram, offered: bool = False, **options: Any) -> object:
    """List guards, how often each spoke and what came of it."""
    if offered:
        return Listing("offered", tuple(app.guards.offered(**options)))
    return Listing("guards", app.guards.listed(**options))


@result_command("add", guard_command)
@id_argument
@click.option("--path", "paths", multiple=True, metavar="GLOB", help="Files that are not to be edited; repeatable.")
@click.option(
    "--deny",
    type=click.Choice(["edit", "write"]),
    help="What --path forbids: edits of files that are committed (the default), or new files as well.",
)
@click.option("--command", default="", metavar="WORDS", help="A command by its words, as in 'npm *'.")
@click.option("--added", default="", metavar="TEXT", help="A text that no line is to get.")
@click.option("--removed", default="", metavar="TEXT", help="A text that no line is to lose.")
@click.option("--in", "within", multiple=True, metavar="GLOB", help="The files of --added or --removed; repeatable.")
@click.option("--branch", default="", metavar="NAME", help="Only on this branch; alone: no edit and no commit on it.")
@click.option("--use", default="", metavar="TEXT", help="What to use in its place.")
@click.option("--regex", is_flag=True, help="TEXT is a regular expression.")
@click.option("--strict", is_flag=True, help="Deny it; by default it warns.")
def add_command(app: Engram, observation_id: int, deny: str | None, **rule: Any) -> object:
    """Give an observation a guard: one of --path, --command, --added and --removed, or --branch alone.

    Globs are those of .gitignore, from the root of the repository; a file is known by any spelling and through links,
    but not where a command writes it. A command is found by its words wherever a line runs it (`cd x && npm i`,
    `sudo`, `bash -c`), not where it is quoted; its options match in any order. A text is whole words of lines that are
    new or gone; a regular expression knows classes, groups, |, repeats, ^, $, and \\b at an end, and no text makes it
    slow. What a tool takes away by writing a file anew, `engram check` alone sees. A guard that would have spoken at
    more than half of the files of the last 200 commits is refused.

    \b
    engram guard add 12 --command 'npm *' --use pnpm
    engram guard add 14 --path 'migrations/**' --use "a new migration"
    engram guard add 15 --added 'import requests' --in '**/*.py' --use httpx
    """
    from engram_py.guards.values import Guard

    return app.guards.add(observation_id, Guard(**rule, deny=deny or ""))


@result_command("accept", guard_command)
@id_argument
@click.option("--strict", is_flag=True, help="Deny it; by default it warns.")
def accept_command(app: Engram, observation_id: int, strict: bool) -> object:
    """Give an observation the guard that its text offers."""
    return app.guards.accept(observation_id, strict=strict)


@result_command("decline", guard_command)
@id_argument
def decline_command(app: Engram, observation_id: int) -> object:
    """Offer no guard of an observation again, and remove those it has."""
    return app.guards.decline(observation_id)


@result_command("remove", guard_command)
@id_argument
@click.argument("number", required=False, type=int, help="Which of its guards; default: all of them.")
def remove_command(app: Engram, observation_id: int, number: int | None) -> object:
    """Take guards of an observation away."""
    return app.guards.remove(observation_id, number)


@result_command("off", guard_command)
@id_argument
@click.option("--session", "session_id", metavar="ID", help="The session; default: the one here it spoke in last.")
@click.option("--all", "everywhere", is_flag=True, help="In every session of the project that is open.")
def off_command(app: Engram, observation_id: int, session_id: str | None, everywhere: bool) -> object:
    """Silence the guards of an observation for a session. Overruled in three, it is due for review."""
    return app.guards.off(observation_id, session_id=session_id, everywhere=everywhere)


@result_command("on", guard_command)
@id_argument
def on_command(app: Engram, observation_id: int) -> object:
    """Let the guards of an observation speak again wherever they were silenced."""
    return app.guards.on(observation_id)


@click.command("check")
@click.argument("what", nargs=-1, metavar="[A..B | FILE...]", help="Commits, or files, that guards look at.")
@click.option("--staged", is_flag=True, help="Let guards look at what the next commit has.")
@click.option(
    "--format", "form", type=click.Choice(["text", "github", "sarif"]), default="text", help="How places are printed."
)
@click.option("--memory", "review", is_flag=True, help="Say what A..B does to the memories in .engram, for reviewers.")
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 when something is stale, no file could be checked, or a memory may contradict another.",
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
    """List observations whose files changed since; with --staged, commits or files, what is against a decision.

    The latter exits with 1 where a guard speaks, with file, line, decision and author. A range is what its commits
    changed since its ends parted, without guards of a branch alone; of files all lines count as new.

    With --memory it says in words, for a comment by CI, what the range adds, changes and removes in .engram/memories,
    and which memory of its base the new texts or the code are against. The database of this machine has no part in it.
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
