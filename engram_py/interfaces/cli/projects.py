"""``engram init`` and ``engram projects``; ``engram off`` and ``engram on`` switch hooks, ``engram trust`` lists where
memories came from, ``engram clear`` destroys what is kept.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from engram_py.base.files import here
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    can_ask,
    confirm,
    confirmed,
    dry_run_option,
    group,
    json_command,
    limit_option,
    memory,
    one_project_option,
    print_value,
    result_command,
    value_command,
    vectors_option,
    yes_option,
)
from engram_py.interfaces.cli.documents import index_documents
from engram_py.memory.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("init")
@click.argument("name", required=False, help="The project; default: the name of the repository or folder.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@vectors_option
@json_command
def init_command(name: str | None, force: bool, vectors: bool | None, as_json: bool) -> None:
    """Write .engram.json at the top of the repository: it names the project for everyone who clones it."""
    from engram_py.memory.projects.locate import locate
    from engram_py.memory.projects.settings_file import write_project_settings
    from engram_py.memory.projects.values import InvalidProjectError, normalize_project

    found = locate(here())
    suggested = name if name is not None else found.name
    if suggested is None:
        raise InvalidProjectError("", "this folder does not suggest one, so it has to be given")
    project = normalize_project(suggested)
    root = found.repository.root if found.repository else here()
    path = write_project_settings(root, project, force=force)
    with memory() as app:
        app.projects.confirm()
    said = f"Wrote {path}: everything saved below it belongs to {project}. Commit it to share the name."
    documents = index_documents()
    print_value({"path": str(path), "project": project}, "\n".join(filter(None, (said, documents))), as_json=as_json)
    if vectors is not None or not as_json:
        from engram_py.interfaces.cli.upkeep import offer_vectors

        offer_vectors(vectors, ask=True)


projects_command = group("projects", "List, merge, rename and prune projects; by default it lists them.", alone="list")


@result_command("list", limit_option(100, whole=True), of=projects_command)
def list_command(app: Engram) -> Listing:
    """List all projects, the most recently active first."""
    return Listing("projects", app.projects.list())


@result_command("current", of=projects_command)
def current_command(app: Engram) -> object:
    """Print the project of this folder, and why."""
    return app.projects.current()


@value_command("confirm", of=projects_command)
def confirm_command() -> tuple[object, str]:
    """Use the project in this folder's .engram.json, even if that project already has memories from another folder."""
    with memory() as app:
        project = app.projects.confirm()
    return {"project": project}, f"This folder is project {project} from now on, as its .engram.json says."


@result_command("merge", of=projects_command)
@click.argument("names", nargs=-1, required=True, help="The projects to merge.")
@click.option("--into", "into", required=True, help="The project to merge into.")
@yes_option
@dry_run_option
def merge_command(app: Engram, names: tuple[str, ...], into: str, yes: bool, dry_run: bool) -> object:
    """Merge projects into one, after asking; the old names keep working. This cannot be undone with `engram undo`."""
    if dry_run:
        return app.merging.would_merge(names, into)
    known = [app.projects.existing(name) for name in names if name.strip()]
    confirm(f"merge {', '.join(known)} into {into}", yes=yes)
    return app.merging.merge(names, into)


@result_command("rename", of=projects_command)
@click.argument("project", help="The project.")
@click.argument("name", help="The new name; no project may have it.")
def rename_command(app: Engram, project: str, name: str) -> object:
    """Rename a project; the old name keeps working."""
    return app.merging.rename(project, name)


@result_command("consolidate", of=projects_command)
@click.argument("name", required=False, help="Only projects with a name like this one.")
@yes_option
@dry_run_option
def consolidate_command(app: Engram, name: str | None, yes: bool, dry_run: bool) -> Listing:
    """Find projects with similar names, and merge each group after asking.

    Projects of different remotes are never put together. Without a terminal and --yes, nothing is merged.
    """
    groups = app.merging.alike(name)
    if dry_run or not groups:
        return Listing("alike", groups)
    chosen = (one for one in groups if confirmed(f"merge {', '.join(one.names)} into {one.into}", yes=yes))
    return Listing("merged", tuple(app.merging.merge(one.names, one.into) for one in chosen))


@result_command("prune", yes_option, dry_run_option, of=projects_command)
def prune_command(app: Engram, yes: bool, dry_run: bool) -> object:
    """Remove empty projects, after asking. A project with restorable deletions is not empty."""
    found = app.merging.prune(dry_run=True)
    if not found.names or dry_run:
        return found
    confirm(f"remove {', '.join(found.names)}", yes=yes)
    return app.merging.prune()


@value_command("alias", of=projects_command)
@click.argument("alias", help="The other name.")
@click.argument("project", help="The project.")
def alias_command(alias: str, project: str) -> tuple[object, str]:
    """Make ALIAS another name of PROJECT."""
    with memory() as app:
        alias, project = app.merging.alias(alias, project)
    return {"alias": alias, "project": project}, f"{alias} is {project} now"


def _switch(name: str, help: str) -> click.Command:
    """Return the command that switches hooks ``on`` or ``off``."""

    @result_command(name, help=help)
    @click.option("--record", is_flag=True, help="Only the recording of prompts, messages and learnings.")
    @click.option("--inject", is_flag=True, help="Only the injection of memory into prompts.")
    @click.option("--project", metavar="NAME", help="Only in this project; default: everywhere.")
    @click.option("--session", "session_id", metavar="ID", help="Only in this session; `engram sessions` lists them.")
    @click.option("--status", is_flag=True, help="Show what is on and off; change nothing.")
    def run(app: Engram, status: bool, project: str | None, session_id: str | None, **parts: bool) -> object:
        if status:
            return app.switches.state(session_id)
        named = [part for part in ("record", "inject") if parts[part]] or ["enabled"]
        return app.switches.turn(named, on=name == "on", project=project, session_id=session_id)

    return run


off_command = _switch(
    "off",
    """Turn hooks off; with --record or --inject, only that part. Saved memories stay.

    Tools still work: an agent saves if you ask it to. For one agent, set ENGRAM_ENABLED=off (or
    ENGRAM_RECORD, ENGRAM_INJECT) where it is started.
    """,
)
on_command = _switch("on", "Turn hooks on; with --record or --inject, only that part.")


@result_command("trust")
@click.argument("ids", nargs=-1, metavar="[ID...]", type=OBSERVATION_ID, help="Observations to trust.")
@click.option("--author", metavar="NAME", help="Trust everything that this author wrote and will write.")
@click.option(
    "--project",
    metavar="NAME",
    is_flag=False,
    flag_value="",
    help="Trust all sources of a project; default: this folder's.",
)
@click.option("--stop", is_flag=True, help="Stop trusting --author or --project.")
def trust_command(app: Engram, ids: tuple[int, ...], author: str | None, project: str | None, stop: bool) -> object:
    """Trust memories from elsewhere: from a repository's .engram, a team's server, an import file.

    Until then agents see them only in their own project, marked as not checked. Trusted authors are given there under
    their names; with IDs, observations become your own. Without arguments the authors are listed.
    """
    if ids and (author or project is not None or stop):
        raise click.UsageError("give ids, or --author or --project")
    if stop and author is None and project is None:
        raise click.UsageError("--stop goes with --author or --project")
    if ids:
        with app.store.transaction():
            accepted = [app.observations.accept(one) for one in ids]
        return accepted[0] if len(accepted) == 1 else Listing("accepted", tuple(accepted))
    if author is not None:
        return app.trust.author(author, project=project or None, trusted=not stop)
    return app.trust.arrivals() if project is None else app.trust.project(project or None, trusted=not stop)


key_command = group(
    "key", "Show, export or import your key: what it signed is yours, on every machine that has it.", alone="show"
)


@result_command("show", of=key_command)
def show_key_command(app: Engram) -> object:
    """Show the public half of your key, which others may know."""
    return app.trust.keys.show()


@result_command("export", of=key_command)
def export_key_command(app: Engram) -> object:
    """Print your key as 24 words for your other machines. Who has them writes as you."""
    return app.trust.keys.phrase()


@result_command("import", of=key_command)
def import_key_command(app: Engram) -> object:
    """Make the key of another machine of yours the key of this one. The command reads the 24 words.

    Import it before the first sync: then what your other machines wrote is yours here.
    """
    if can_ask():
        return app.trust.take_in_key(click.prompt("The 24 words", hide_input=True, err=True))
    return app.trust.take_in_key(sys.stdin.read(_MOST_PHRASE_CHARS))


_MOST_PHRASE_CHARS = 1_000
_everywhere = click.option("--everywhere", is_flag=True, help="Also on synced machines and on the server.")

clear_command = group(
    "clear",
    "Destroy memory. The command shows what and how much, and asks. Run `engram backup` first for a copy.",
)


@result_command("turns", of=clear_command)
@click.option("--project", metavar="NAME", help="Only of this project.")
@click.option("--session", "session_id", metavar="ID", help="Only of this session.")
@yes_option
def turns_command(app: Engram, **asked: Any) -> object:
    """Destroy the raw messages that hooks kept of conversations. Observations and prompts stay."""
    return _clear(app, "turns", **asked)


@result_command("project", of=clear_command)
@click.argument("project", metavar="NAME", help="The name that `engram projects` lists.")
@_everywhere
@yes_option
def project_command(app: Engram, **asked: Any) -> object:
    """Destroy a project: observations with their history, prompts, sessions, raw messages, verdicts."""
    return _clear(app, "project", **asked)


@result_command("everything", _everywhere, yes_option, of=clear_command)
def everything_command(app: Engram, **asked: Any) -> object:
    """Destroy the whole memory. Settings, switches, logins and backups stay."""
    return _clear(app, "everything", **asked)


def _clear(app: Engram, what: str, *, yes: bool, **asked: Any) -> object:
    from engram_py.interfaces.wording.projects import clearing

    found = app.clearing.look(what, **asked)
    if any(found.counts.values()) and not yes:
        for line in clearing(found):
            click.echo(visible(line), err=True)
        confirm("destroy it", yes=yes)
    return app.clearing.clear(what, **asked)


@result_command("stats", one_project_option)
def stats_command(app: Engram, project: str | None) -> object:
    """Count the rows of the memory."""
    return app.statistics.count(project)
