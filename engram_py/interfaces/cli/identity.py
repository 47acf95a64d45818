"""``engram identity``: what holds of the user always, and their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.dataclass import replace
from engram_py.interfaces.cli.commands import group, limit_option, prints_result, project_option
from engram_py.interfaces.cli.terminal import text_argument

if TYPE_CHECKING:
    from engram_py.app import Engram

own_scope_option = click.option("--scope", help="personal (every project, the default) or project (this one).")
session_option = click.option("--session", "session_id", help="The session it belongs to.")

identity_command = group("identity", "Keep what holds of you always; every context begins with it.", alone="list")


@identity_command.command("add")
@click.argument("text", help="One sentence, as in 'Always answer in German'; - reads standard input.")
@own_scope_option
@session_option
@project_option
@prints_result
def add_command(app: Engram, text: str, **options: Any) -> object:
    """Keep TEXT, once, whatever its case and spacing."""
    return app.identity.add(text_argument(text), origin="user", **options)


@identity_command.command("list")
@limit_option(50)
@click.option("--scope", help="Only personal, or only project; default: both.")
@project_option
@prints_result
def list_command(app: Engram, limit: int = 50, scope: str | None = None, project: str | None = None) -> object:
    """List what is kept, in the order it was said."""
    return app.identity.listed(scope=scope, project=project, limit=limit)


@identity_command.command("remove")
@click.argument("what", metavar="ID|TEXT", help="Its number, its text, or a part of it that no other has.")
@project_option
@prints_result
def remove_command(app: Engram, what: str, **options: Any) -> object:
    """Remove a statement. `engram undelete ID` brings it back."""
    return app.identity.remove(what, **options)


@identity_command.command("profile")
@click.argument("text", required=False, help="Write it so; - reads standard input. Without it, print the profile.")
@click.option("--derive", is_flag=True, help="Write it from your preferences and the facts about you, as upkeep does.")
@own_scope_option
@session_option
@project_option
@prints_result
def profile_command(app: Engram, text: str | None, derive: bool, **options: Any) -> object:
    """Print who you are in a few lines, or with --scope project how to work with you there; write it with TEXT."""
    if text is not None:
        if derive:
            raise click.UsageError("give TEXT or --derive, not both")
        return app.identity.write_profile(text_argument(text), origin="user", **options)
    kept = derive and "kept" in app.identity.rewrite_profile()
    found = app.identity.profile(**options)
    note = "the profile was left alone: it was written, or deleted, on purpose"
    return replace(found, warnings=(*found.warnings, note)) if kept else found
