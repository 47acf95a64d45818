"""Writes the generated parts of docs/reference: cog calls one function for each. Run ``make docs`` after a change."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from docs import limits, words
from engram_py import Engram
from engram_py.capture.secret_patterns import FLOATING, PREFIXED, SK_KINDS
from engram_py.cloud import errors as cloud_errors  # noqa: F401 - defines errors
from engram_py.config import SETTINGS, Settings
from engram_py.errors import EngramError
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http import errors as http_errors  # noqa: F401 - defines errors
from engram_py.interfaces.http.api import load_routes
from engram_py.interfaces.http.operations import OPERATIONS
from engram_py.interfaces.mcp import resources as offers  # also defines an error
from engram_py.interfaces.mcp.profiles import PROFILES
from engram_py.interfaces.mcp.schemas import declared
from engram_py.interfaces.mcp.tooling import Tool
from engram_py.projects.settings_keys import KEYS

_HINTS = {
    "readOnlyHint": ("reads", "writes"),
    "destructiveHint": ("destructive", "not destructive"),
    "idempotentHint": ("idempotent", "not idempotent"),
}
_ALLOWED = re.compile(r"check \((\w+) in \(([^)]*)\)\)")


def tools() -> str:
    """Every MCP tool: what it says of itself, its hints, and a table of its arguments."""
    return "\n".join(line for tool in declared().values() for line in _tool(tool))


def _tool(tool: Tool) -> Iterator[str]:
    member_of = ", ".join(f"`{name}`" for name, names in PROFILES.items() if tool.name in names)
    hints = ", ".join(says[not tool.hints[name]] for name, says in _HINTS.items())
    yield from (f"## {tool.name}", "", f"**{tool.title}.** {tool.description}", "")
    yield from (f"Profiles: {member_of}. Hints: {hints}.", "")
    schema = tool.parameters
    rows = [_argument(name, one, name in schema.get("required", ())) for name, one in schema["properties"].items()]
    yield table(("argument", "type", "default", "meaning"), rows)
    accepted = (one.name for one in tool.arguments.values())
    quiet = [f"`{name}`" for name in accepted if name not in schema["properties"]]
    quiet += [f"`{alias}` (for `{name}`)" for alias, name in tool.aliases.items()]
    if quiet:
        yield f"Also accepted: {', '.join(quiet)}.\n"


def _argument(name: str, one: Mapping[str, Any], required: bool) -> tuple[str, ...]:
    kind = "one of " + ", ".join(one["enum"]) if "enum" in one else str(one["type"])
    if kind == "array":
        kind = f"list of {one['items']['type']}"
    default = "required" if required else json.dumps(one["default"]) if "default" in one else ""
    if kind == "boolean" and not default:
        default = "false"
    if name == "response_format":
        default = json.dumps(one["enum"][0])
    return f"`{name}`", kind, default, one.get("description") or words.ARGUMENTS[name]


def profiles() -> str:
    """A table of the profiles."""
    rows = [(f"`{name}`", str(len(names)), ", ".join(names)) for name, names in PROFILES.items() if name != "all"]
    return table(("profile", "tools", "which"), [*rows, ("`all`", str(len(PROFILES["all"])), "every tool below")])


def resources() -> str:
    """A table of the resources and prompts."""
    rows = [(f"`{one['uriTemplate']}`", "resource", str(one["description"])) for one in offers.TEMPLATES]
    rows += [(f"`{one['name']}`", "prompt", str(one["description"])) for one in offers.PROMPTS]
    return table(("name", "kind", "what it gives"), rows)


def http_routes() -> str:
    """A table of the routes of `engram serve`."""
    load_routes()
    rows = [(f"`{one.method} {one.path}`", str(one.status), one.summary) for one in OPERATIONS]
    return table(("route", "status", "what it does"), sorted(rows, key=lambda row: row[0].split()[::-1]))


def commands() -> str:
    """Every command with its arguments and options."""
    root = click.Context(cli, info_name="engram")
    return "\n".join(line for name in cli.list_commands(root) for line in _command(cli, name, root))


def _command(group: click.Group, name: str, parent: click.Context) -> Iterator[str]:
    command = group.get_command(parent, name)
    assert command is not None
    ctx = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    json = " It takes `--json`." if any(map(_is_json, command.params)) else ""
    yield from (f"## {ctx.command_path}", "", f"`{usage}`", "", _paragraphs(command.help or "") + json, "")
    rows = [_parameter(one, ctx) for one in command.params if not _is_json(one)]
    if rows:
        yield table(("argument or option", "meaning"), rows)
    if isinstance(command, click.Group):
        for inner in command.list_commands(ctx):
            yield from _command(command, inner, ctx)


def _is_json(one: click.Parameter) -> bool:
    """Whether it is the `--json` that the head of the page explains for all commands."""
    return isinstance(one, click.Option) and one.help == "Print the result as JSON."


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _parameter(one: click.Parameter, ctx: click.Context) -> tuple[str, str]:
    assert isinstance(one, click.Option | click.Argument)
    assert one.help, f"{ctx.command_path} {one.name} has no help"
    if isinstance(one, click.Argument):
        return f"`{one.make_metavar(ctx)}`", one.help
    value = "" if one.is_flag else f" {one.make_metavar(ctx)}"
    given = one.default not in (None, "") and isinstance(one.default, str | int) and not one.is_flag
    default = f" Default `{one.default}`." if given else ""
    return ", ".join(f"`{name}{value}`" for name in one.opts), one.help + default


def settings() -> str:
    """A table of the settings of a machine."""
    rows = [
        (f"`{one.key}`" if one.key else "", f"`{one.variable}`", one.default or "none", one.help) for one in SETTINGS
    ]
    return table(("key in `config.json`", "variable", "default", "meaning"), rows)


def project_settings() -> str:
    """The keys of ``.engram.json`` as a table and as a whole file."""
    rows = []
    for key in KEYS:
        default = "none" if key.default in (None, ()) else json.dumps(key.default)
        names = f"`{key.name}`" + (f" (or `{key.alias}`)" if key.alias else "")
        rows.append((names, key.type, default, key.help))
    whole: dict[str, Any] = {}
    for key in KEYS:
        group, _, name = key.name.rpartition(".")
        (whole.setdefault(group, {}) if group else whole)[name] = key.example
    example = f"```json\n{json.dumps(whole, indent=2)}\n```\n"
    return table(("key", "value", "default", "meaning"), rows) + "\n" + example


def schema() -> str:
    """Every table with its meaning and columns, from a database that has had all migrations."""
    with _memory() as app, closing(sqlite3.connect(app.store.path)) as db:
        found = db.execute("select name, sql from sqlite_master where type = 'table' order by rowid").fetchall()
        virtual = [name for name, sql in found if sql.lower().startswith("create virtual")]
        kept = [
            (name, sql)
            for name, sql in found
            if not name.startswith("sqlite_") and not name.startswith(tuple(f"{one}_" for one in virtual))
        ]
        _match(words.TABLES, [name for name, _ in kept])
        return "\n".join(line for name, sql in kept for line in _table(db, name, sql))


def _table(db: sqlite3.Connection, name: str, sql: str) -> Iterator[str]:
    yield from (f"## {name}", "", words.TABLES[name], "")
    if name.startswith("_"):  # a library's own
        return
    allowed: dict[str, str] = dict(_ALLOWED.findall(sql))
    points = {row[3]: f"→ `{row[2]}.{row[4]}`" for row in db.execute(f"pragma foreign_key_list({name})")}
    rows = []
    for _, column, kind, required, default, key, hidden in db.execute(f"pragma table_xinfo({name})"):
        if hidden:
            continue
        notes = ["key"] if key else []
        notes += ["required"] if required and not key else []
        notes += [f"default {default}"] if default is not None else []
        notes += [f"one of {allowed[column]}"] if column in allowed else []
        notes += [points[column]] if column in points else []
        rows.append((f"`{column}`", kind.lower(), ", ".join(notes)))
    yield table(("column", "type", ""), rows)


def errors() -> str:
    """Every error code by family."""
    leaves = {family: list(_leaves(family)) for family in EngramError.__subclasses__()}
    _match(words.FAMILIES, [family.code for family in leaves])
    _match(words.ERRORS, [leaf.code for found in leaves.values() for leaf in found])
    lines: list[str] = []
    for family, found in leaves.items():
        lines += [f"## {family.code}", "", f"`{family.__name__}`. {words.FAMILIES[family.code]}", ""]
        rows = [(f"`{leaf.code}`", f"`{leaf.__name__}`", words.ERRORS[leaf.code]) for leaf in found]
        lines.append(table(("code", "class", "when"), sorted(rows)))
    return "\n".join(lines)


def _leaves(family: type[EngramError]) -> Iterator[type[EngramError]]:
    for one in family.__subclasses__():
        yield one
        yield from _leaves(one)


def redacted_kinds() -> str:
    """The kinds of credentials known by their shape, as one sentence's worth of names."""
    kinds = {kind for kind, _, _ in (*PREFIXED, *FLOATING)} | set(SK_KINDS.values())
    return ", ".join(f"`{kind}`" for kind in sorted(kinds)) + ".\n"


def limit_table() -> str:
    """A table of the limits, each read from the constant that holds it."""
    return table(("what", "limit", "beyond it"), limits.rows())


def checks() -> str:
    """A table of what the doctor looks at."""
    with _memory() as app:
        found = app.doctor.check_ids()
    _match(words.CHECKS, found)
    rows = [(f"`{name}`", *words.CHECKS[name]) for name in found]
    return table(("check", "looks at", "`--fix`"), rows)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table, with a blank line after it."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


@contextmanager
def _memory() -> Iterator[Engram]:
    """A new, empty memory, whatever this machine's settings are."""
    with TemporaryDirectory() as folder, Engram(settings=Settings(Path(folder)), directory=folder) as app:
        yield app


def _match(written: Mapping[str, object], there: Iterable[str]) -> None:
    """Stop when something has no sentence, or a sentence belongs to nothing."""
    there = list(there)
    missing, stale = [one for one in there if one not in written], [one for one in written if one not in there]
    if missing or stale:
        raise SystemExit(f"docs/words.py: write a sentence about each of {missing}; delete those about {stale}")
