"""``engram entity``: what has a name, its other names, its edges; ``engram fact``: what is known of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import group, limit_option, prints_result, project_option, scope_option
from engram_py.interfaces.cli.terminal import text_argument

if TYPE_CHECKING:
    from engram_py.app import Engram

entity_argument = click.argument("entity", help="Its name, an alias or its slug.")

entity_command = group("entity", "Show what has a name here: people, services, libraries; connect and join them.")


@entity_command.command("list")
@click.option("--candidates", is_flag=True, help="Names that are mentioned too seldom as well.")
@click.option("--archived", is_flag=True, help="Those put away as well.")
@scope_option
@project_option
@prints_result
def list_command(app: Engram, **options: Any) -> object:
    """List the entities, by slug."""
    return app.entities.listed(**options)


@entity_command.command("show")
@entity_argument
@scope_option
@project_option
@prints_result
def show_command(app: Engram, entity: str, **options: Any) -> object:
    """Print what is known of ENTITY."""
    return app.entities.show(entity, **options)


@entity_command.command("graph")
@entity_argument
@click.option("--depth", type=int, default=2, help="Edges away, 1 to 4; default 2.")
@scope_option
@project_option
@prints_result
def graph_command(app: Engram, entity: str, **options: Any) -> object:
    """Print what edges lead to from ENTITY."""
    return app.entities.graph(entity, **options)


@entity_command.command("link")
@click.argument("subject", help="An entity.")
@click.argument("predicate", help="snake_case, as in works_at or depends_on.")
@click.argument("object", help="Another entity.")
@click.option("--fact", help="The sentence that says so; default: made of the three.")
@click.option("--kind", help="What SUBJECT is: person, service, library.")
@click.option("--object-kind", help="What OBJECT is.")
@click.option("--validate/--no-validate", "checked", default=True, help="Judge the fact by the write rules.")
@click.option("--session", "session_id", help="The session it belongs to.")
@scope_option
@project_option
@prints_result
def link_command(app: Engram, subject: str, predicate: str, object: str, **options: Any) -> object:
    """Connect two entities, as in alice works_at acme; the edge holds while the fact does."""
    return app.entities.link(subject, predicate, object, origin="user", **options)


@entity_command.command("alias")
@entity_argument
@click.argument("aliases", nargs=-1, required=True, help="Other names.")
@scope_option
@project_option
@prints_result
def alias_command(app: Engram, entity: str, aliases: tuple[str, ...], **options: Any) -> object:
    """Give ENTITY other names, by which it is found as well."""
    return app.entities.alias(entity, aliases, **options)


@entity_command.command("merge")
@entity_argument
@click.argument("into", help="The entity that stays.")
@scope_option
@project_option
@prints_result
def merge_command(app: Engram, entity: str, into: str, **options: Any) -> object:
    """Say that ENTITY is INTO, which has the names, facts and edges of both."""
    return app.entities.merge(entity, into, **options)


@entity_command.command("archive")
@entity_argument
@click.option("--restore", is_flag=True, help="Bring it back.")
@scope_option
@project_option
@prints_result
def archive_command(app: Engram, entity: str, **options: Any) -> object:
    """Put ENTITY away; its facts stay."""
    return app.entities.archive(entity, **options)


fact_entity_argument = click.argument("entity", help="Its name or slug, as in billing-service.")
fact_command = group("fact", "Keep facts about entities, a sentence each; a new value replaces the old one.")


@fact_command.command("add")
@fact_entity_argument
@click.argument("text", help="One sentence; - reads standard input.")
@click.option("--validate/--no-validate", "checked", default=True, help="Judge it by the write rules.")
@click.option("--session", "session_id", help="The session it belongs to.")
@scope_option
@project_option
@prints_result
def add_fact(app: Engram, entity: str, text: str, **options: Any) -> object:
    """Keep TEXT as a fact about ENTITY."""
    return app.facts.add(entity, text_argument(text), origin="user", **options)


@fact_command.command("list")
@fact_entity_argument
@click.option("--past", is_flag=True, help="Those that were replaced as well.")
@limit_option(50)
@scope_option
@project_option
@prints_result
def list_facts(app: Engram, entity: str, **options: Any) -> object:
    """List the facts about ENTITY, latest change first."""
    return app.facts.of(entity, **options)
