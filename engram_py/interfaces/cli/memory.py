"""Commands for one observation, search and context."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import (
    OBSERVATION_ID,
    all_option,
    json_option,
    memory,
    project_option,
    refusing,
    scope_option,
    show,
    text_argument,
)

id_argument = click.argument("observation_id", metavar="ID", type=OBSERVATION_ID, help="Its number, as in 12 or #12.")


@click.command("save")
@click.argument("title", help="The title, one line.")
@click.argument("content", help="The text; - reads standard input.")
@click.option("--type", "kind", default="manual", show_default=True, help="decision, bugfix, pattern, ...")
@click.option("--topic", help="Topic key; saving to it again revises the observation.")
@click.option("--alias", "aliases", multiple=True, help="Another word somebody may search by; may be repeated.")
@click.option("--file", "files", multiple=True, help="A file it is about: path or path:10-20; may be repeated.")
@click.option("--session", "session_id", help="The session it belongs to.")
@click.option("--operation-id", help="A second save with the same id returns the first result.")
@scope_option
@project_option
@json_option
@refusing
def save_command(
    title: str,
    content: str,
    kind: str,
    topic: str | None,
    aliases: tuple[str, ...],
    files: tuple[str, ...],
    session_id: str | None,
    operation_id: str | None,
    scope: str | None,
    project: str | None,
    as_json: bool,
) -> None:
    """Save an observation."""
    from engram_py.observations.values import Draft

    draft = Draft(
        title,
        text_argument(content),
        kind,
        scope=scope,
        topic_key=topic,
        aliases=aliases,
        origin="user",
        operation_id=operation_id,
        files=files,
    )
    with memory() as app:
        show(app.observations.save(draft, project=project, session_id=session_id), app, as_json=as_json)


@click.command("search")
@click.argument(
    "query",
    nargs=-1,
    help="Words, a question, a topic key, #id, filters; none with --type; - reads standard input.",
)
@click.option("--type", "kind", help="Only this type.")
@click.option("--match", type=click.Choice(["all", "any"]), default="all", help="Start with all words, or any.")
@scope_option
@project_option
@all_option
@click.option("--limit", type=int, help="Most results, 1 to 20; default: what .engram.json says, else 10.")
@click.option("--as-of", metavar="DATE", help="Search what was known on that day.")
@click.option("--explain", is_flag=True, help="Print each hit's numbers, the steps of the search, and its words.")
@json_option
@refusing
def search_command(
    query: tuple[str, ...],
    kind: str | None,
    match: str,
    scope: str | None,
    project: str | None,
    all_projects: bool,
    limit: int | None,
    explain: bool,
    as_of: str | None,
    as_json: bool,
) -> None:
    """Find what earlier sessions kept, best match first; --type or --scope without words lists those.

    A query may hold a "phrase" in quotes, -word for what must not be there, and filters: type: topic: project:
    scope: file: branch: since: until: is:pinned, is:stale, is:superseded or is:archived. Dates are 2026-03-14,
    2026-03, 7d or today.

    The shell takes quotes away and a leading - is an option, so put the query in single quotes:
    engram search 'timeout -redis "connection reset" type:bugfix since:30d'. A -word also goes after --, as in:
    engram search timeout -- -redis
    """
    if not (query or kind or scope):
        raise click.UsageError("give words, or list by --type or --scope")
    with memory() as app:
        found = app.search(
            text_argument(" ".join(query)),
            project=project,
            all_projects=all_projects,
            type=kind,
            scope=scope,
            match_mode=match,
            limit=limit,
            explain=explain,
            as_of=as_of,
        )
        show(found, app, as_json=as_json, full=True)


@click.command("get")
@id_argument
@click.option("--history", is_flag=True, help="With earlier versions.")
@json_option
@refusing
def get_command(observation_id: int, history: bool, as_json: bool) -> None:
    """Print an observation whole."""
    with memory() as app:
        show(app.observations.get(observation_id, history=history), app, as_json=as_json)


@click.command("history")
@id_argument
@click.option("--cursor", type=int, help="Continue from an earlier page.")
@json_option
@refusing
def history_command(observation_id: int, cursor: int | None, as_json: bool) -> None:
    """Print an observation, its earlier versions, newest first, and what replaced what on its line."""
    with memory() as app:
        show(app.observations.get(observation_id, history=True, cursor=cursor), app, as_json=as_json)


@click.command("context")
@click.argument("name", metavar="[PROJECT]", required=False, help="The same as --project.")
@project_option
@click.option("--query", help="Print the context for this prompt, often none; - reads standard input.")
@click.option("--mode", type=click.Choice(["session", "query", "cascade", "full"]), help="Default: session, or query.")
@click.option("--budget-tokens", type=int, help="Most tokens of 4 bytes; default 1,500, 800, 2,000 or 10,000.")
@click.option("--max-bytes", type=int, help="Most bytes of UTF-8; default 6,000.")
@click.option("--compact", is_flag=True, help="Titles only.")
@scope_option
@json_option
@refusing
def context_command(
    name: str | None,
    project: str | None,
    query: str | None,
    mode: str | None,
    budget_tokens: int | None,
    max_bytes: int | None,
    compact: bool,
    scope: str | None,
    as_json: bool,
) -> None:
    """Print what a new session would be given, or a prompt."""
    if name and project and name != project:
        raise click.UsageError(f"two projects: {name} and --project {project}; give one")
    prompt = text_argument(query) if query is not None else None
    with memory() as app:
        wanted = project or name
        found = app.contexts.assemble(
            app.projects.existing(wanted) if wanted else None,
            scope=scope,
            max_bytes=max_bytes,
            compact=compact,
            query=prompt,
            mode=mode,
            budget_tokens=budget_tokens,
        )
        show(found, app, as_json=as_json)
        if found.mode == "query" and not as_json and not any(section.items for section in found.sections):
            from engram_py.interfaces.wording.context import not_merged

            heard = f"asked by “{found.cue}”, found nothing" if found.cue else "nothing is likely to be needed for it"
            heard = not_merged(found) or heard
            click.echo(f"note: nothing for this prompt ({heard})", err=True)


@click.command("timeline")
@id_argument
@click.option("--before", type=int, default=5, show_default=True, help="Observations before it.")
@click.option("--after", type=int, default=5, show_default=True, help="Observations after it.")
@json_option
@refusing
def timeline_command(observation_id: int, before: int, after: int, as_json: bool) -> None:
    """Print what was saved before and after an observation in its session."""
    with memory() as app:
        show(app.observations.timeline(observation_id, before=before, after=after), app, as_json=as_json)


@click.command("update")
@id_argument
@click.option("--title", help="New title.")
@click.option("--content", help="The whole new text; - reads standard input.")
@click.option("--find", help="Literal text to replace everywhere in the content.")
@click.option("--replace", help="The replacement for --find.")
@click.option("--type", "kind", help="New type.")
@click.option("--topic", help="New topic key.")
@click.option("--salience", type=float, help="Weight among equal hits, 0 to 1; default for new ones: 0.5.")
@click.option("--expires", metavar="DATE", help="The last day on which it is shown unasked, or `never`.")
@scope_option
@json_option
@refusing
def update_command(
    observation_id: int,
    title: str | None,
    content: str | None,
    find: str | None,
    replace: str | None,
    kind: str | None,
    topic: str | None,
    salience: float | None,
    expires: str | None,
    scope: str | None,
    as_json: bool,
) -> None:
    """Correct an observation; its old text stays in its history."""
    from engram_py.observations.values import Change

    text = text_argument(content) if content is not None else None
    change = Change(title, text, kind, scope, topic, find, replace, salience=salience, expires_at=expires)
    with memory() as app:
        updated = app.observations.update(observation_id, change)
        show(updated, app, as_json=as_json)


@click.command("pin")
@id_argument
@json_option
@refusing
def pin_command(observation_id: int, as_json: bool) -> None:
    """Keep an observation on top of every session's context."""
    with memory() as app:
        show(app.observations.pin(observation_id), app, as_json=as_json)


@click.command("unpin")
@id_argument
@json_option
@refusing
def unpin_command(observation_id: int, as_json: bool) -> None:
    """Stop keeping an observation on top."""
    with memory() as app:
        show(app.observations.pin(observation_id, pinned=False), app, as_json=as_json)
