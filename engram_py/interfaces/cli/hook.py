"""``engram hook``: its help. ``engram_py.__main__`` answers hooks without importing the command line."""

from __future__ import annotations

import click

from engram_py.interfaces.hooks.events import EVENTS
from engram_py.interfaces.hooks.watchdog import LEAST_LIMIT_MS, MOST_LIMIT_MS


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", required=False, default="", metavar="EVENT", help=f"One of {', '.join(EVENTS)}.")
@click.option("--agent", default="", metavar="NAME", help="The agent, such as claude-code, codex, gemini or cursor.")
@click.option(
    "--limit-ms",
    type=int,
    metavar="N",
    help=f"Answer within this time, {LEAST_LIMIT_MS} to {MOST_LIMIT_MS:,} ms; default: 5,000, 2,000 for a prompt, "
    "1,000 before an edit.",
)
@click.option("--pretool", metavar="on|off", help="Whether pre-tool answers; default: ENGRAM_HOOK_PRETOOL.")
@click.pass_context
def hook_command(ctx: click.Context, event: str, agent: str, limit_ms: int | None, pretool: str | None) -> None:
    """Answer an agent's hook: its JSON on stdin, what it should read on stdout.

    Always exits with 0 and in time; why a hook stayed silent is in hooks.log, which `engram doctor` reads.
    """
    from engram_py.interfaces.hooks.entry import main

    words = [event, f"--agent={agent}"]
    words += [f"--limit-ms={limit_ms}"] if limit_ms else []
    words += [f"--pretool={pretool}"] if pretool else []
    data_dir = ctx.find_root().obj
    words += [f"--data-dir={click.format_filename(data_dir)}"] if data_dir else []
    main(words)
