"""``engram fact``: keep what is known about entities, a sentence each, and list it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import group, limit_option, prints_result, project_option, scope_option
from engram_py.interfaces.cli.terminal import text_argument

if TYPE_CHECKING:
    from engram_py.app import Engram

entity_argument = click.argument("entity", help="Its name or slug, as in billing-service.")

fact_command = group("fact", "Keep facts about entities, a sentence each; a new value replaces the old one.")


@fact_command.command("add")
@entity_argument
@click.argument("text", help="One sentence; - reads standard input.")
@click.option("--validate/--no-validate", "checked", default=True, help="Judge it by the write rules.")
@click.option("--session", "session_id", help="The session it belongs to.")
@scope_option
@project_option
@prints_result
def add_command(app: Engram, entity: str, text: str, **options: Any) -> object:
    """Keep TEXT as a fact about ENTITY."""
    return app.facts.add(entity, text_argument(text), origin="user", **options)


@fact_command.command("list")
@entity_argument
@click.option("--past", is_flag=True, help="Those that were replaced as well.")
@limit_option(50)
@scope_option
@project_option
@prints_result
def list_command(app: Engram, entity: str, **options: Any) -> object:
    """List the facts about ENTITY, latest change first."""
    return app.facts.of(entity, **options)
