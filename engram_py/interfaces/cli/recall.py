"""Commands that find: search, list, context; why a prompt is given what it is; and the user's own retrieval tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from engram_py.errors import EmptyQueryError
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    all_option,
    confirm,
    json_command,
    limit_option,
    memory,
    pass_json_on,
    place_options,
    print_notes,
    progress,
    project_option,
    project_options,
    result_command,
    scope_option,
    show,
    text_argument,
    value_command,
    yes_option,
)
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


@result_command("search")
@click.argument(
    "query",
    nargs=-1,
    help="Words, a question, a topic key, #id, filters; none with --type; - reads standard input.",
)
@click.option("--type", help="Only this type.")
@click.option(
    "--match", "match_mode", type=click.Choice(["all", "any"]), default="all", help="Start with all words, or any."
)
@place_options
@all_option
@click.option("--limit", type=int, help="Most results, 1 to 20; default: what .engram.json says, else 10.")
@click.option("--in", "layer", help="memories (the default), episodes, turns, prompts, documents, entities or all.")
@click.option("-c", "--collection", metavar="NAME", help="Only the documents of this collection; several with commas.")
@click.option("--sort", type=click.Choice(["relevance", "recency", "salience"]), help="The order of the results.")
@click.option("--as-of", metavar="DATE", help="Search what was known on that day.")
@click.option("--explain", is_flag=True, help="Print each hit's numbers, the steps of the search, and its words.")
def search_command(app: Engram, query: tuple[str, ...], **options: Any) -> object:
    """Find what earlier sessions kept, best match first; --type or --scope without words lists those.

    A query may hold a "phrase" in quotes, -word for what must not be there, and filters: type: topic: project:
    scope: file: branch: since: until: collection: is:pinned, is:stale, is:superseded or is:archived. Dates are
    2026-03-14, 2026-03, 7d or today.

    The shell takes quotes away and a leading - is an option, so put the query in single quotes:
    engram search 'timeout -redis "connection reset" type:bugfix since:30d'. A -word also goes after --, as in:
    engram search timeout -- -redis
    """
    if not (query or options["type"] or options["scope"]):
        raise click.UsageError("give words, or list by --type or --scope")
    return app.search_in(options.pop("layer"), text_argument(" ".join(query)), **options)


@result_command("list")
@click.argument("filters", nargs=-1, help="type: topic: project: scope: file: branch: since: until: is:pinned.")
@click.option("--type", help="Only this type; several with commas.")
@click.option("--deleted", is_flag=True, help="List what was deleted and can be restored.")
@scope_option
@project_options
@limit_option(20, paged=True)
def list_command(app: Engram, filters: tuple[str, ...], **options: Any) -> object:
    """List observations, latest change first. `engram search` finds by words."""
    return app.bulk.listed(" ".join(filters), **options, counted=True)


recent_command = list_command


@click.command("context")
@click.argument("name", metavar="[PROJECT]", required=False, help="The same as --project.")
@project_option
@click.option("--query", help="Print the context for this prompt, often none; - reads standard input.")
@click.option("--mode", type=click.Choice(["session", "query", "cascade", "full"]), help="Default: session, or query.")
@click.option("--budget-tokens", type=int, help="Most tokens of 4 bytes; default 1,500, 800, 2,000 or 10,000.")
@click.option("--max-bytes", type=int, help="Most bytes of UTF-8; default 6,000.")
@click.option("--compact", is_flag=True, help="Titles only.")
@scope_option
@json_command
def context_command(name: str | None, project: str | None, query: str | None, as_json: bool, **options: Any) -> None:
    """Print what a new session would be given, or a prompt."""
    if name and project and name != project:
        raise click.UsageError(f"two projects: {name} and --project {project}; give one")
    prompt = text_argument(query) if query is not None else None
    with memory() as app:
        wanted = app.projects.existing(project or name or "") if project or name else None
        found = app.contexts.assemble(wanted, query=prompt, **options)
        show(found, app.settings, as_json=as_json)
    if not as_json:
        from engram_py.interfaces.wording.context import nothing_given

        print_notes(nothing_given(found))


@value_command("why")
@click.argument("prompt", nargs=-1, help="The prompt, as typed to an agent; - reads standard input.")
@click.option("--session", "session_id", default="", help="The session; what it was shown is not shown again.")
@click.option("--failure", metavar="TEXT", help="What a failed command printed, instead of a prompt; - as above.")
def why_command(prompt: tuple[str, ...], session_id: str, failure: str | None) -> tuple[object, str]:
    """Show what the hook gives an agent for PROMPT, what it looked for, or why it stays silent.

    Also show what a search for the same words finds. With --failure, show what the hook says when a command fails so.
    Nothing is stored or counted.
    """
    if failure is not None and not prompt:
        return _why_failure(text_argument(failure))
    if failure is not None or not prompt:
        raise click.UsageError("give either PROMPT or --failure TEXT")
    from engram_py.interfaces.screen_values import explained
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.context import why

    text = text_argument(" ".join(prompt))
    if not text.strip():
        raise EmptyQueryError(text)
    with memory(embedder="") as app:  # a hook loads no model either
        done = explained(app, text, session_id, door="cli")
        search = render.text(done.found, now=app.journal.moment(), door="cli")
    return done.values, why(done.values, search)


def _why_failure(output: str) -> tuple[object, str]:
    from engram_py.interfaces.wording import render

    with memory(embedder="") as app:
        done = app.failures.explain(output)
        return render.to_json(done, "cli"), render.text(done, now=app.journal.moment(), door="cli")


@result_command("fixes")
@project_options
@limit_option(20)
def fixes_command(app: Engram, **options: Any) -> Listing:
    """List the errors that were seen and what made the same command pass, the latest first.

    `engram get ID` shows one whole, `engram update ID` corrects it, `engram delete ID` takes it away.
    """
    return Listing("fixes", app.failures.fixes(**options))


@click.group("eval", invoke_without_command=True)
@click.option("--keep", is_flag=True, help="Compare later runs with this one; the first run is kept automatically.")
@click.option(
    "--tolerance", type=float, help="How much hit@5 or MRR may be lower before it counts as a fall; default 0.01."
)
@click.pass_context
@json_command
def eval_command(ctx: click.Context, keep: bool, tolerance: float | None, as_json: bool) -> None:
    """Run every question and compare with the kept run. Exit code 1 when hit@5 or MRR fell, or a question that should
    find nothing now finds something.

    `add`, `list` and `remove` manage the questions. Everything stays on this machine.
    """
    if pass_json_on(ctx, as_json=as_json):
        return
    from engram_py import __version__

    with memory() as app, progress("Asking", "no answers were kept") as report:
        result = app.evaluations.run({"engram": __version__}, keep=keep, tolerance=tolerance, progress=report)
    show(result, app.settings, as_json=as_json)
    if result.fell:
        sys.exit(1)


@result_command("add", eval_command)
@click.argument("question", help="What somebody would ask; - reads standard input.")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=OBSERVATION_ID, help="The observations that answer it.")
@click.option("--none", "silent", is_flag=True, help="Nothing here answers it: a search should find nothing.")
@click.option("--project", help="The project it is asked from; default: that of its first answer, else of this folder.")
def add_command(app: Engram, question: str, ids: tuple[int, ...], silent: bool, project: str | None) -> object:
    """Keep a question and the observations that answer it; again with another ID adds an answer."""
    return app.evaluations.add(text_argument(question), ids, silent=silent, project=project)


@result_command("list", eval_command)
@limit_option(100, whole=True)
def list_questions(app: Engram) -> Listing:
    """List the questions."""
    return Listing("questions", app.evaluations.questions())


@result_command("remove", eval_command)
@click.argument("numbers", metavar="N...", nargs=-1, required=True, type=int, help="As `engram eval list` shows them.")
def remove_command(app: Engram, numbers: tuple[int, ...]) -> object:
    """Remove questions."""
    return app.evaluations.remove(numbers)


@result_command("ab")
@click.option("--agent-command", "agent", help="How your agent is run, as in 'claude -p {prompt}'.")
@click.option("--check", help="How tests are run here, as in 'npm test -- {tests}'; default: pytest, go or cargo.")
@click.option("--tasks", type=click.IntRange(1, 50), default=5, help="Most tasks; each is run four times. Default 5.")
@click.option("--timeout", type=click.IntRange(min=1), default=600, help="Seconds that one run may take. Default 600.")
@click.option("--dry-run", is_flag=True, help="List the tasks. Their tests are run, the agent is not.")
@click.option("--again", is_flag=True, help="Begin anew; otherwise what was run is kept.")
@yes_option
def ab_command(app: Engram, agent: str | None, dry_run: bool, yes: bool, **options: Any) -> object:
    """Run your agent at fixes of this repository that came again or are remembered, and at commits against a guard.

    Each starts from the commit before, with nothing, a placebo of equal length, the memory as a Markdown file, and
    engram. The check is the fix's own test, or the guard.

    It runs in worktrees with a memory of their own; in the last arm the agent needs Engram's hooks or tools (`engram
    setup`). Stopped, it goes on where it was.
    """
    if not (agent or dry_run):
        raise click.UsageError("give --agent-command, or --dry-run to list the tasks")
    with progress("Looking for tasks", "nothing was run") as report:
        plan = app.experiments.plan(agent or "", progress=report, **options)
    if dry_run:
        return plan
    if plan.done < plan.runs:
        from engram_py.interfaces.wording import render

        click.echo(render.text(plan, now=app.journal.moment(), door="cli"), err=True)
        confirm(f"run the agent {plan.runs - plan.done} times", yes=yes)
    with progress("Running") as report:
        return app.experiments.run(plan, agent or "", progress=report)


@result_command("hot")
@click.argument("count", metavar="[N]", type=int, required=False, default=10, help="How many of each.")
@project_options
def hot_command(app: Engram, count: int, project: str | None, *, all_projects: bool) -> object:
    """List the memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=count, project=project, all_projects=all_projects)
