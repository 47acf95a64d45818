"""``engram entity``: what has a name, its other names, its edges; ``engram fact``: what is known of it; ``engram
identity``: what holds of the user always, and their profile. ``engram conflicts`` lists relations and looks for new
ones; ``engram judge`` and ``supersede`` give a verdict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    group,
    left_out,
    limit_option,
    memory,
    options_of,
    print_notes,
    project_options,
    result_command,
    text_argument,
    value_command,
)
from engram_py.interfaces.operations import (
    ADD_FACT,
    ADD_STATEMENT,
    ALIAS_ENTITY,
    ARCHIVE_ENTITY,
    ENTITY_GRAPH,
    LINK_ENTITIES,
    LIST_ENTITIES,
    LIST_FACTS,
    LIST_STATEMENTS,
    MERGE_ENTITIES,
    REMOVE_STATEMENT,
    SHOW_ENTITY,
    SHOW_PROFILE,
    WRITE_PROFILE,
)
from engram_py.memory.observations.listing import Listing
from engram_py.memory.relations.relations import DEFAULT, STATUSES
from engram_py.memory.relations.values import VERBS
from engram_py.recall.contradictions import SCANNED

if TYPE_CHECKING:
    from engram_py.app import Engram


entity_command = group("entity", "Show, connect and merge entities: people, services, libraries.")


@result_command("list", options_of(LIST_ENTITIES), of=entity_command)
@limit_option(100, whole=True)
def list_command(app: Engram, **given: Any) -> object:
    """List the entities, by slug."""
    return LIST_ENTITIES(app, given)


@result_command("show", options_of(SHOW_ENTITY), of=entity_command)
def show_command(app: Engram, **given: Any) -> object:
    """Print the facts about ENTITY and its connections."""
    return SHOW_ENTITY(app, given)


@result_command("graph", options_of(ENTITY_GRAPH), of=entity_command)
def graph_command(app: Engram, **given: Any) -> object:
    """Print entities connected to ENTITY."""
    return ENTITY_GRAPH(app, given)


validate_option = click.option(
    "--validate/--no-validate",
    "checked",
    default=True,
    help="Refuse facts that are vague or temporary (default); --no-validate stores any text.",
)


@result_command("link", options_of(LINK_ENTITIES), validate_option, of=entity_command)
def link_command(app: Engram, checked: bool, **given: Any) -> object:
    """Connect two entities, as in alice works_at acme. The link is removed when its fact is replaced."""
    return LINK_ENTITIES(app, given, checked=checked, origin="user")


@result_command("alias", options_of(ALIAS_ENTITY), of=entity_command)
def alias_command(app: Engram, **given: Any) -> object:
    """Give ENTITY other names."""
    return ALIAS_ENTITY(app, given)


@result_command("merge", options_of(MERGE_ENTITIES), of=entity_command)
def merge_command(app: Engram, **given: Any) -> object:
    """Merge ENTITY into INTO, which keeps the names, facts and edges of both."""
    return MERGE_ENTITIES(app, given)


@result_command("archive", options_of(ARCHIVE_ENTITY), of=entity_command)
def archive_command(app: Engram, **given: Any) -> object:
    """Archive ENTITY; its facts stay."""
    return ARCHIVE_ENTITY(app, given)


fact_command = group("fact", "Keep facts about entities, a sentence each; a new value replaces the old one.")


@result_command("add", options_of(ADD_FACT), validate_option, of=fact_command)
def add_fact(app: Engram, checked: bool, **given: Any) -> object:
    """Keep TEXT as a fact about ENTITY."""
    return ADD_FACT(app, given, checked=checked, origin="user")


@result_command("list", options_of(LIST_FACTS), of=fact_command)
@limit_option(50)
def list_facts(app: Engram, limit: int, **given: Any) -> object:
    """List the facts about ENTITY, latest first."""
    return LIST_FACTS(app, given, limit=limit)


identity_command = group(
    "identity", "Keep facts and preferences about you; every context starts with them.", alone="list"
)


@result_command("add", options_of(ADD_STATEMENT), of=identity_command)
def add_command(app: Engram, **given: Any) -> object:
    """Keep TEXT. Texts that differ only in case and spacing are kept once."""
    return ADD_STATEMENT(app, given, origin="user")


@result_command("list", options_of(LIST_STATEMENTS), of=identity_command)
@limit_option(50)
def list_statements(app: Engram, limit: int = 50, **given: Any) -> object:
    """List the statements about you, oldest first."""
    return LIST_STATEMENTS(app, given, limit=limit)


@result_command("remove", options_of(REMOVE_STATEMENT), of=identity_command)
def remove_command(app: Engram, **given: Any) -> object:
    """Remove a statement. `engram undelete ID` brings it back."""
    return REMOVE_STATEMENT(app, given)


@result_command("profile", of=identity_command)
@click.argument("text", required=False, help="The new profile; - reads standard input. Without it, print the profile.")
@click.option("--derive", is_flag=True, help="Derive it from your preferences and the facts about you.")
@options_of(SHOW_PROFILE)
def profile_command(app: Engram, text: str | None, derive: bool, **given: Any) -> object:
    """Print your profile, or with --scope project how to work with you there; TEXT replaces it."""
    if text is not None:
        if derive:
            raise click.UsageError("give TEXT or --derive, not both")
        return WRITE_PROFILE(app, given | {"text": text_argument(text)}, origin="user")
    kept = derive and "kept" in app.identity.rewrite_profile()
    found = SHOW_PROFILE(app, given)
    note = "the profile was not rewritten, because a person wrote or deleted it"
    return replace(found, warnings=(*found.warnings, note)) if kept else found


@result_command("judge")
@click.argument("judgment_id", required=False, help="The id that `engram save` printed, as in rel-0123456789abcdef.")
@click.argument("relation", required=False, help=", ".join(VERBS) + ".")
@click.option("--reason", help="Why.")
@click.option("--evidence", help="What the verdict is based on.")
@click.option("--confidence", type=float, help="0 to 1.")
@project_options
@limit_option(20)
def judge_command(
    app: Engram,
    judgment_id: str | None,
    relation: str | None,
    project: str | None,
    all_projects: bool,
    limit: int,
    **verdict: Any,
) -> object:
    """List relations without a verdict, or give one."""
    if judgment_id is None:
        return Listing("pending", app.relations.pending(project, all_projects=all_projects, limit=limit))
    if relation is None:
        raise click.UsageError("RELATION is missing: engram conflicts judge JUDGMENT_ID RELATION")
    return app.relations.judge(judgment_id, relation, **verdict)


@result_command("supersede")
@click.argument("new", metavar="NEW", type=OBSERVATION_ID, help="The number of the new observation.")
@click.argument("old", metavar="OLD", type=OBSERVATION_ID, help="The number of the observation it replaces.")
@click.option("--reason", "reasoning", help="Why; at most 200 characters.")
def supersede_command(app: Engram, new: int, old: int, reasoning: str | None) -> object:
    """Replace OLD by NEW. Searches that match OLD show NEW. Both texts stay.

    As in `engram supersede 52 17 --reason "the team moved to httpx"`.
    """
    why = reasoning or "said by `engram supersede`"
    if new == old:
        raise InvalidArgumentError("OLD", said="OLD and NEW are the same memory", step="give two different ids")
    return app.relations.compare(new, old, "supersedes", confidence=1.0, reasoning=why)


conflicts_command = group(
    "conflicts",
    "List relations, judge them, count them, and look for new pairs; by default it lists them.",
    alone="list",
)
conflicts_command.add_command(judge_command)


@result_command("list", of=conflicts_command)
@click.option("--status", type=click.Choice(STATUSES), help="Only this state.")
@click.option("--since", help="Only relations found since this time (RFC 3339).")
@click.option("--offset", "skipped", type=int, default=0, help="Skip this many relations, instead of --page.")
@limit_option(DEFAULT, paged=True)
@project_options
def conflicts_list_command(app: Engram, skipped: int, offset: int, **options: Any) -> object:
    """List relations, newest first, without those judged to be no conflict."""
    return app.relations.page(offset=skipped or offset, **options)


@value_command("show", of=conflicts_command)
@click.argument("relation", metavar="ID", help="Its number, or the judgment id as in rel-0123456789abcdef.")
def conflicts_show_command(relation: str) -> tuple[object, str]:
    """Print one relation, its verdict and the reason for it."""
    from engram_py.interfaces.wording import relations, render

    with memory() as app:
        found = app.relations.show(relation)
        said = render.text(found, now=app.journal.calendar.local, door="cli")
    return render.to_json(found, "cli"), f"{said}\n{relations.facts(found)}"


@result_command("compare", of=conflicts_command)
@click.argument("one", metavar="ID", type=OBSERVATION_ID, help="The number of the first observation.")
@click.argument("relation", help=", ".join(VERBS) + ".")
@click.argument("other", metavar="OTHER", type=OBSERVATION_ID, help="The number of the second observation.")
@click.option("--reason", "reasoning", required=True, help="Why; at most 200 characters.")
@click.option("--confidence", type=float, default=1.0, show_default=True, help="0 to 1.")
def compare_command(app: Engram, one: int, relation: str, other: int, **verdict: Any) -> object:
    """Record how one observation relates to another of its project; both texts stay."""
    if one == other:
        raise InvalidArgumentError("OTHER", said="ID and OTHER are the same memory", step="give two different ids")
    return app.relations.compare(one, other, relation, **verdict)


@result_command("stats", project_options, of=conflicts_command)
def stats_command(app: Engram, project: str | None, all_projects: bool) -> object:
    """Count relations by verdict and by state."""
    return app.relations.stats(project, all_projects=all_projects)


@result_command("scan", of=conflicts_command)
@click.option("--apply", is_flag=True, help="Store each new pair for a verdict.")
@click.option("--since", help="Only observations changed since this time (RFC 3339).")
@click.option("--cursor", type=int, default=0, show_default=True, help="Continue where the last scan stopped.")
@click.option("--limit", type=int, default=SCANNED, show_default=True, help="Most observations to compare.")
@project_options
def scan_command(app: Engram, **options: Any) -> object:
    """Look for pairs of observations that may say the same or the opposite. Without --apply nothing is written."""
    return app.conflicts.scan(**options)


@value_command("deferred", of=conflicts_command)
@click.option("--status", type=click.Choice(["deferred", "dead"]), help="Only this state.")
@click.option("--replay", is_flag=True, help="Try to apply them again.")
@limit_option(DEFAULT, paged=True)
def deferred_command(status: str | None, replay: bool, limit: int, offset: int) -> tuple[object, str]:
    """List synced rows that could not be applied, with the reason."""
    with memory() as app:
        if replay:
            done = app.autosync.replay()
            return done, ", ".join(f"{count} {name}" for name, count in done.items())
        limit = max(1, limit)
        total, rows = app.autosync.deferred(status=status, limit=limit, offset=offset)
    from engram_py.interfaces.wording.sync import unapplied

    print_notes(filter(None, [left_out(len(rows), offset // limit + 1, offset, limit, total)]))
    return {"total": total, "rows": rows}, unapplied(rows)
