"""``engram conflicts`` lists relations and looks for new ones; ``engram judge`` and ``supersede`` give a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    group,
    limit_option,
    memory,
    project_options,
    result_command,
    value_command,
)
from engram_py.observations.listing import Listing
from engram_py.recall.contradictions import SCANNED
from engram_py.relations.relations import DEFAULT, STATUSES
from engram_py.relations.values import VERBS

if TYPE_CHECKING:
    from engram_py.app import Engram


@result_command("judge")
@click.argument("judgment_id", required=False, help="The id that `engram save` printed, as in rel-0123456789abcdef.")
@click.argument("relation", required=False, help=", ".join(VERBS) + ".")
@click.option("--reason", help="Why.")
@click.option("--evidence", help="The evidence.")
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
        raise click.UsageError("RELATION is missing: engram judge JUDGMENT_ID RELATION")
    return app.relations.judge(judgment_id, relation, **verdict)


@result_command("supersede")
@click.argument("new", metavar="NEW", type=OBSERVATION_ID, help="The number of the observation that holds now.")
@click.argument("old", metavar="OLD", type=OBSERVATION_ID, help="The number of the one it takes the place of.")
@click.option("--reason", "reasoning", help="Why; at most 200 characters.")
def supersede_command(app: Engram, new: int, old: int, reasoning: str | None) -> object:
    """Say that NEW takes the place of OLD: what asks for OLD finds NEW. Both texts stay.

    As in `engram supersede 52 17 --reason "the team moved to httpx"`.
    """
    why = reasoning or "said by `engram supersede`"
    return app.relations.compare(new, old, "supersedes", confidence=1.0, reasoning=why)


conflicts_command = group(
    "conflicts",
    "List relations, count them, and look for new pairs; alone it lists them. `engram judge` gives a verdict.",
    alone="list",
)


@result_command("list", conflicts_command)
@click.option("--status", type=click.Choice(STATUSES), help="Only this state.")
@click.option("--since", help="Only those found since this time (RFC 3339).")
@click.option("--offset", type=int, default=0, show_default=True, help="How many to skip.")
@limit_option(DEFAULT)
@project_options
def list_command(app: Engram, **options: Any) -> object:
    """List relations, newest first, without those judged to be no conflict."""
    return app.relations.page(**options)


@value_command("show", conflicts_command)
@click.argument("relation", metavar="ID", help="Its number, or the judgment id as in rel-0123456789abcdef.")
def show_command(relation: str) -> tuple[object, str]:
    """Print one relation, its verdict and the reason for it."""
    from engram_py.interfaces.wording import observations, render

    with memory() as app:
        found = app.relations.show(relation)
        said = render.text(found, now=app.journal.moment(), door="cli")
    return render.to_json(found, "cli"), f"{said}\n{observations.facts(found)}"


@result_command("compare", conflicts_command)
@click.argument("one", metavar="ID", type=OBSERVATION_ID, help="The number of the first.")
@click.argument("relation", help=", ".join(VERBS) + ".")
@click.argument("other", metavar="OTHER", type=OBSERVATION_ID, help="The number of the second.")
@click.option("--reason", "reasoning", required=True, help="Why; at most 200 characters.")
@click.option("--confidence", type=float, default=1.0, show_default=True, help="0 to 1.")
def compare_command(app: Engram, one: int, relation: str, other: int, **verdict: Any) -> object:
    """Say how one observation relates to another of its project; both texts stay."""
    return app.relations.compare(one, other, relation, **verdict)


@result_command("stats", conflicts_command)
@project_options
def stats_command(app: Engram, project: str | None, all_projects: bool) -> object:
    """Count relations by verdict and by state."""
    return app.relations.stats(project, all_projects=all_projects)


@result_command("scan", conflicts_command)
@click.option("--apply", is_flag=True, help="Store each new pair for a verdict.")
@click.option("--since", help="Only observations changed since this time (RFC 3339).")
@click.option("--cursor", type=int, default=0, show_default=True, help="Continue after this place of an earlier page.")
@click.option("--limit", type=int, default=SCANNED, show_default=True, help="Most observations to compare.")
@project_options
def scan_command(app: Engram, **options: Any) -> object:
    """Look for pairs of observations that may say the same or the opposite. Without --apply nothing is written."""
    return app.conflicts.scan(**options)


@value_command("deferred", conflicts_command)
@click.option("--status", type=click.Choice(["deferred", "dead"]), help="Only this state.")
@click.option("--replay", is_flag=True, help="Try to apply them again.")
@limit_option(DEFAULT)
def deferred_command(status: str | None, replay: bool, limit: int) -> tuple[object, str]:
    """List synced rows that could not be applied, with the reason."""
    with memory() as app:
        if replay:
            done = app.autosync.replay()
            return done, ", ".join(f"{count} {name}" for name, count in done.items())
        total, rows = app.autosync.deferred(status=status, limit=max(1, limit))
    from engram_py.interfaces.wording.sync import unapplied

    return {"total": total, "rows": rows}, unapplied(rows, total)
