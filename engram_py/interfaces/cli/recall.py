"""Commands that find: search, list, context; why a prompt is given what it is; and the user's own retrieval tests."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from engram_py.base.dataclass import replace
from engram_py.base.errors import EmptyQueryError
from engram_py.base.reasons import reason
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    can_ask,
    confirm,
    json_command,
    limit_option,
    memory,
    options_of,
    pass_json_on,
    print_notes,
    project_options,
    result_command,
    scope_option,
    show,
    text_argument,
    value_command,
    yes_option,
)
from engram_py.interfaces.cli.progress import progress
from engram_py.interfaces.operations import CONTEXT, SEARCH
from engram_py.memory.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


@result_command("search")
@click.argument(
    "query",
    nargs=-1,
    help="Words, a question, a topic key, #id or filters; may be left out with --type; - reads standard input.",
)
@options_of(SEARCH)
def search_command(app: Engram, query: tuple[str, ...], **given: Any) -> object:
    """Find memories, best match first; --type or --scope without words lists memories of that type or scope.

    A query may have a "phrase" in quotes, -word to exclude a word, and filters: type: topic: project: scope: file:
    branch: since: until: collection: is:pinned, is:stale, is:superseded or is:archived. Dates are 2026-03-14, 2026-03,
    7d or today.

    The shell removes quotes, and a leading - is an option, so put the query in single quotes: engram search 'timeout
    -redis "connection reset" type:bugfix since:30d'. A -word also works after --, as in: engram search timeout --
    -redis
    """
    if not (query or given["type"] or given["scope"]):
        raise click.UsageError("give words, or list by --type or --scope")
    from engram_py.recall.values import Results

    app.read_shared_first()
    found = SEARCH(app, given | {"query": text_argument(" ".join(query))})
    if isinstance(found, Results) and found.query and not found.results and not app.settings.embedder and can_ask():
        return replace(found, warnings=(*found.warnings, reason("words_alone")))
    return found


@result_command("list")
@click.argument("filters", nargs=-1, help="type: topic: project: scope: file: branch: since: until: is:pinned.")
@click.option("--type", help="Only this type; several with commas.")
@click.option("--deleted", is_flag=True, help="List deleted observations that can be restored.")
@scope_option
@project_options
@limit_option(20, paged=True)
def list_command(app: Engram, filters: tuple[str, ...], **options: Any) -> object:
    """List observations, latest change first. `engram search` finds by words."""
    app.read_shared_first()
    return app.bulk.listed(" ".join(filters), **options, counted=True)


recent_command = list_command


@click.command("context")
@click.argument("name", metavar="[PROJECT]", required=False, help="The same as --project.")
@options_of(CONTEXT)
@json_command
def context_command(name: str | None, project: str | None, as_json: bool, **given: Any) -> None:
    """Print the context of a new session, or of a prompt."""
    if name and project and name != project:
        raise click.UsageError(f"two projects: {name} and --project {project}; give one")
    with memory() as app:
        wanted = app.projects.existing(project or name or "") if project or name else None
        found = CONTEXT(app, given | {"project": wanted})
        show(found, app.settings, as_json=as_json)
    if not as_json:
        from engram_py.interfaces.wording.context import nothing_given

        print_notes(nothing_given(found))


@value_command("why")
@click.argument("prompt", nargs=-1, help="The prompt, as typed to an agent; - reads standard input.")
@click.option("--session", "session_id", default="", help="A session; memories that it was shown are left out.")
@click.option(
    "--failure", metavar="TEXT", help="The output of a failed command, instead of a prompt; - reads standard input."
)
def why_command(prompt: tuple[str, ...], session_id: str, failure: str | None) -> tuple[object, str]:
    """Show what an agent gets for PROMPT, and why.

    Also show what a search for the same words finds. With --failure, show the hint for a failed command. Nothing is
    stored or counted.
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
        search = render.text(done.found, now=app.journal.calendar.local, door="cli")
    return done.values, why(done.values, search)


def _why_failure(output: str) -> tuple[object, str]:
    from engram_py.interfaces.wording import render

    with memory(embedder="") as app:
        done = app.failures.explain(output)
        return render.to_json(done, "cli"), render.text(done, now=app.journal.calendar.local, door="cli")


@result_command("fixes", project_options, limit_option(20))
def fixes_command(app: Engram, **options: Any) -> Listing:
    """List fixes of commands that failed, latest first.

    `engram get ID` shows one whole, `engram update ID` corrects it, `engram delete ID` hides it.
    """
    return Listing("fixes", app.failures.fixes(**options))


@click.group("eval", invoke_without_command=True)
@click.option("--keep", is_flag=True, help="Compare later runs with this one; the first run is kept automatically.")
@click.option("--tolerance", type=float, help="How much hit@5 or MRR may fall; default 0.01.")
@click.pass_context
@json_command
def eval_command(ctx: click.Context, keep: bool, tolerance: float | None, as_json: bool) -> None:
    """Search for every question and compare with the kept run. Exit code 1 when hit@5 or MRR fell, or a question that
    should find nothing now finds something.

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


@result_command("add", of=eval_command)
@click.argument("question", help="The question; - reads standard input.")
@click.argument("ids", metavar="[ID]...", nargs=-1, type=OBSERVATION_ID, help="The observations that answer it.")
@click.option("--none", "silent", is_flag=True, help="No observation answers it: a search should find nothing.")
@click.option("--project", help="The project that is searched; default: that of the first answer, else this folder's.")
def add_command(app: Engram, question: str, ids: tuple[int, ...], silent: bool, project: str | None) -> object:
    """Keep a question and the observations that answer it. Run it again with another ID to add an answer."""
    return app.evaluations.add(text_argument(question), ids, silent=silent, project=project)


@result_command("list", limit_option(100, whole=True), of=eval_command)
def list_questions(app: Engram) -> Listing:
    """List the questions."""
    return Listing("questions", app.evaluations.questions())


@result_command("remove", of=eval_command)
@click.argument(
    "numbers", metavar="N...", nargs=-1, required=True, type=int, help="The numbers that `engram eval list` shows."
)
def remove_command(app: Engram, numbers: tuple[int, ...]) -> object:
    """Remove questions."""
    return app.evaluations.remove(numbers)


@result_command("ab")
@click.option("--agent-command", "agent", help="The command that runs your agent, as in 'claude -p {prompt}'.")
@click.option("--check", help="The command that runs tests, as in 'npm test -- {tests}'; default: pytest, go or cargo.")
@click.option(
    "--tasks", type=click.IntRange(1, 50), default=5, show_default=True, help="Most tasks; each runs four times."
)
@click.option("--timeout", type=click.IntRange(min=1), default=600, show_default=True, help="Most seconds of one run.")
@click.option("--dry-run", is_flag=True, help="List the tasks; their tests run, the agent does not.")
@click.option("--again", is_flag=True, help="Repeat runs that are done already.")
@yes_option
def ab_command(app: Engram, agent: str | None, dry_run: bool, yes: bool, **options: Any) -> object:
    """Test your agent on past fixes and on commits that broke a guard.

    Each task runs four times from the commit before the fix: without memory, with an unrelated text, with the memory as
    a file, with engram. The fix's own test, or the guard, decides whether the task is solved. An interrupted run
    continues.

    It runs in worktrees with a memory of their own. For the runs with engram the agent needs its hooks or tools
    (`engram setup`).
    """
    if not (agent or dry_run):
        raise click.UsageError("give --agent-command, or --dry-run to list the tasks")
    with progress("Looking for tasks", "nothing was run") as report:
        plan = app.experiments.plan(agent or "", progress=report, **options)
    if dry_run:
        return plan
    if plan.done < plan.runs:
        from engram_py.interfaces.wording import render
        from engram_py.interfaces.wording.phrases import amount

        click.echo(render.text(plan, now=app.journal.calendar.local, door="cli"), err=True)
        confirm(f"run the agent {amount(plan.runs - plan.done, 'time')}", yes=yes)
    with progress("Running") as report:
        return app.experiments.run(plan, agent or "", progress=report)


@result_command("hot")
@click.argument("count", metavar="[N]", type=int, required=False, default=10, help="How many of each, at most.")
@project_options
def hot_command(app: Engram, count: int, project: str | None, *, all_projects: bool) -> object:
    """List the memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=count, project=project, all_projects=all_projects)
