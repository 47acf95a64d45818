"""``engram fact``: keep what is known about entities, a sentence each, and list it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.support import (
    group,
    limit_option,
    prints_result,
    project_option,
    scope_option,
    text_argument,
)

if TYPE_CHECKING:
    from engram_py.app import Engram

entity_argument = click.argument("entity", help="Its name or slug, as in billing-service.")

fact_command = group("fact", "Keep facts about entities, a sentence each; a new value replaces the old one.")


@fact_command.command("add")
@entity_argument
@click.argument("text", help="One sentence; - reads standard input.")
@click.option("--no-validate", "unchecked", is_flag=True, help="Keep it without the write rules.")
@click.option("--session", "session_id", help="The session it belongs to.")
@scope_option
@project_option
@prints_result
def add_command(
    app: Engram, entity: str, text: str, unchecked: bool, session_id: str | None, scope: str | None, project: str | None
) -> object:
    """Keep TEXT as a fact about ENTITY."""
    return app.facts.add(
        entity,
        text_argument(text),
        checked=not unchecked,
        scope=scope,
        project=project,
        session_id=session_id,
        origin="user",
    )


@fact_command.command("list")
@entity_argument
@click.option("--past", is_flag=True, help="Those that were replaced as well.")
@limit_option(50)
@scope_option
@project_option
@prints_result
def list_command(app: Engram, entity: str, past: bool, limit: int, scope: str | None, project: str | None) -> object:
    """List the facts about ENTITY, latest change first."""
    return app.facts.of(entity, past=past, limit=limit, scope=scope, project=project)
