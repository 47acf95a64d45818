"""Writes the generated parts of docs/reference: cog calls one function for each. Run ``make docs`` after a change."""

from __future__ import annotations

import ast
import pkgutil
import re
import sqlite3
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

import engram_py
from docs import limits, words
from engram_py import Engram
from engram_py.base.capture.redact import FLOATING, PREFIXED, SK_KINDS
from engram_py.base.errors import EngramError, ResponseError
from engram_py.base.settings import SETTINGS, Setting, Settings, SettingValue
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http import api  # noqa: F401 - registers the routes
from engram_py.interfaces.http.routing import ROUTES
from engram_py.interfaces.mcp import protocol as offers
from engram_py.interfaces.mcp.profiles import PROFILES, declared
from engram_py.interfaces.mcp.tool_registry import Tool
from engram_py.memory.projects.settings_file import ALIASES, KEYS

PACKAGE = Path(engram_py.__path__[0])
EXAMPLE = Path(__file__).resolve().parent.parent / ".engram.example.json"
# An option that this many commands have is described once, at the head of the page.
_SHARED_BY = 3
_ALLOWED = re.compile(r"check \((\w+) in \(([^)]*)\)\)")


def tools() -> str:
    """Every MCP tool: what it says of itself, its hints, and its arguments."""
    return "\n".join(line for tool in declared().values() for line in _tool(tool))


def _tool(tool: Tool) -> Iterator[str]:
    schema = tool.parameters
    hints = "reads" if tool.hints["readOnlyHint"] else "destroys" if tool.hints["destructiveHint"] else "writes"
    hints += ", idempotent" if tool.hints["idempotentHint"] else ""
    yield from (f"## {tool.name}", "", f"**{tool.title}** ({hints}). {tool.description}", "")
    for name, one in schema["properties"].items():
        if name != "response_format":  # the head of the page says it for all tools
            yield f"- {_argument(tool.name, name, one, name in schema.get('required', ()))}"
    accepted = (one.name for one in tool.arguments.values())
    quiet = [f"`{name}`" for name in accepted if name not in schema["properties"]]
    quiet += [f"`{alias}` for `{name}`" for alias, name in tool.aliases.items()]
    if quiet:
        yield f"- Also accepted: {', '.join(quiet)}."
    yield ""


def _argument(tool: str, name: str, one: Mapping[str, Any], required: bool) -> str:
    kind = f"list of {one['items']['type']}" if one["type"] == "array" else str(one["type"])
    if "enum" in one:
        kind = "one of " + ", ".join(one["enum"])
    notes = [kind, "required"] if required else [kind]
    meaning = one.get("description") or words.ARGUMENTS.get(f"{tool}.{name}") or words.ARGUMENTS[name]
    return f"`{name}` ({', '.join(notes)}): {meaning}"


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
    rows = [(f"`{one.method} {one.path}`", str(one.status), one.summary) for one in ROUTES]
    return table(("route", "status", "what it does"), sorted(rows, key=lambda row: row[0].split()[::-1]))


def commands() -> str:
    """The options that many commands share, then every command with its own arguments and options."""
    found = list(_commands(cli, click.Context(cli, info_name="engram")))
    parameters = {ctx.command_path: [_parameter(one, ctx) for one in ctx.command.params] for ctx in found}
    counts = Counter(one[:2] for one in chain.from_iterable(parameters.values()))
    usual = {forms: about for (forms, about), _ in reversed(counts.most_common())}
    shared: dict[tuple[str, str], set[str]] = {}
    for *one, default in chain.from_iterable(parameters.values()):
        if counts[key := (one[0], one[1])] >= _SHARED_BY and one[0].startswith("`-") and usual[one[0]] == one[1]:
            shared.setdefault(key, set()).add(default)
    # Where all commands have the same default it stands here, else at each command.
    lines = [_item(*one, *(defaults if len(defaults) == 1 else ())) for one, defaults in sorted(shared.items())]
    first: dict[int, str] = {}
    for ctx in found:
        usage = " ".join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)]).replace(" [OPTIONS]", "")
        lines += ["", f"## {usage.replace(' [ARGS]...', '')}", ""]
        if first.setdefault(id(ctx.command), ctx.command_path) != ctx.command_path:
            lines.append(f"The same as `{first[id(ctx.command)]}`.")
            continue
        taken = (one for one in parameters[ctx.command_path] if one[:2] in shared)
        options = [_taken(forms, default if len(shared[forms, about]) > 1 else "") for forms, about, default in taken]
        first_part, *more = map(_paragraph, (ctx.command.help or "").split("\n\n"))
        lines.append(first_part + (f" Takes {', '.join(options)}." if options else ""))
        lines += chain.from_iterable(("", part) for part in more)
        own = [_item(*one) for one in parameters[ctx.command_path] if one[:2] not in shared]
        lines += ["", *own] if own else []
    return "\n".join([*lines, ""])


def _item(forms: str, about: str, default: str = "") -> str:
    return f"- {forms}: {about}" + (f" Default {default}." if default else "")


def _taken(forms: str, default: str) -> str:
    return re.sub(" .*", "`", forms) + (f" (default {default})" if default else "")


def _commands(group: click.Group, parent: click.Context) -> Iterator[click.Context]:
    for name in group.list_commands(parent):
        command = group.get_command(parent, name)
        assert command is not None
        ctx = click.Context(command, info_name=name, parent=parent)
        yield ctx
        if isinstance(command, click.Group):
            yield from _commands(command, ctx)


def _paragraph(text: str) -> str:
    """A paragraph of a help text on one line; as it is where click keeps its lines."""
    kept = textwrap.dedent(text.strip().removeprefix("\b\n"))
    return f"```text\n{kept}\n```" if kept != text.strip() else " ".join(text.split())


def _parameter(one: click.Parameter, ctx: click.Context) -> tuple[str, str, str]:
    """Return the forms of a parameter, its help and its default."""
    assert isinstance(one, click.Option | click.Argument)
    assert one.help, f"{ctx.command_path} {one.name} has no help"
    if isinstance(one, click.Argument):
        return f"`{re.sub('[][]', '', one.make_metavar(ctx)).removesuffix('...')}`", one.help, ""
    metavar = re.sub("^(INTEGER|INTEGER RANGE|FLOAT)$", "N", one.make_metavar(ctx))
    value = "" if one.is_flag else f" {metavar}"
    given = one.default not in (None, "") and isinstance(one.default, str | int) and not one.is_flag
    forms = ", ".join(f"`{name}{value}`" for name in one.opts)
    off = "".join(f" / `{name}`" for name in one.secondary_opts)
    return forms + off, one.help, f"`{one.default}`" if given else ""


def settings() -> str:
    """A table of the settings of a machine."""
    rows = [
        (f"`{one.key or one.variable}`", _accepted(one), _default(one), one.help)
        for one in SETTINGS
        if one.place != "project"
    ]
    return table(("name", "value", "default", "meaning"), rows)


def project_settings() -> str:
    """The keys of ``.engram.json`` as a table and as a whole file."""
    alias = {key: name for name, key in ALIASES.items()}
    rows = []
    for key, one in KEYS.items():
        names = f"`{key}`" + (f" (or `{alias[key]}`)" if key in alias else "")
        rows.append((names, _accepted(one), _default(one), one.help))
    example = EXAMPLE.read_text(encoding="utf-8")
    return table(("key", "value", "default", "meaning"), rows) + f"\n```json\n{example}```\n"


def _accepted(setting: Setting) -> str:
    return re.sub(r"^(a whole number from|a number from|one of) ", "", setting.accepted)


def _default(setting: Setting) -> str:
    return SettingValue(setting, setting.default, "default").shown or "none"


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
        return "```sql\n" + "\n".join(line for name, sql in kept for line in _table(db, name, sql)) + "```\n"


def _table(db: sqlite3.Connection, name: str, sql: str) -> Iterator[str]:
    yield from textwrap.wrap(words.TABLES[name], 118, initial_indent="-- ", subsequent_indent="-- ")
    columns = db.execute(f"pragma table_xinfo({name})").fetchall()
    shown = [one for one in columns if not one[6]]
    if virtual := re.match(r"create virtual .* using (\w+)", sql, re.IGNORECASE):
        yield f"create virtual table {name} using {virtual[1]} ({', '.join(one[1] for one in shown)});\n"
        return
    allowed: dict[str, str] = dict(_ALLOWED.findall(sql))
    points = {row[3]: f" references {row[2]}" for row in db.execute(f"pragma foreign_key_list({name})")}
    keys = [one[1] for one in sorted(columns, key=lambda one: one[5]) if one[5]]
    lines = []
    for _, column, kind, required, default, key, _ in shown:
        line = f"{column} {kind.lower()}" + (" primary key" if keys == [column] else "")
        line += "" if required or key else " null"
        line += f" default {default}" if default is not None else ""
        line += f" check ({column} in ({allowed[column]}))" if column in allowed else ""
        lines.append(line + points.get(column, ""))
    if len(keys) > 1:
        lines.append(f"primary key ({', '.join(keys)})")
    yield f"create table {name} ("
    wrapped = textwrap.wrap(", ".join(line.replace(" ", "\0") for line in lines), 114, break_on_hyphens=False)
    yield from (f"  {line}".replace("\0", " ") for line in wrapped)
    yield ");\n"


def errors() -> str:
    """Every error code by family."""
    for module in pkgutil.walk_packages(engram_py.__path__, "engram_py."):
        if not module.name.endswith("__main__"):  # classes of errors stand in the rooms that raise them
            import_module(module.name)
    families = [*EngramError.__subclasses__(), *ResponseError.__subclasses__()]
    families.remove(ResponseError)
    codes = {family: {leaf.code for leaf in _leaves(family)} for family in families}
    for family, code in _raised(families):
        codes[family].add(code)
    _match(words.FAMILIES, [family.code for family in codes])
    _match(words.ERRORS, [code for found in codes.values() for code in found])
    lines: list[str] = []
    for family, found in codes.items():
        lines += [f"## {family.code}", "", f"`{family.__name__}`: {words.FAMILIES[family.code]}", ""]
        lines += sorted(f"- `{code}`: {words.ERRORS[code]}" for code in found)
        lines.append("")
    return "\n".join(lines)


def _leaves(family: type[EngramError]) -> Iterator[type[EngramError]]:
    for one in family.__subclasses__():
        yield one
        yield from _leaves(one)


def _raised(families: Iterable[type[EngramError]]) -> Iterator[tuple[type[EngramError], str]]:
    """The codes of errors that are raised as their family, from the source. Each such call names its code in quotes."""
    named = {family.__name__: family for family in families}
    for file in sorted(PACKAGE.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            name = ast.unparse(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
            if isinstance(call, ast.Call) and name in named:
                code = next((given.value for given in call.keywords if given.arg == "code"), None)
                if not isinstance(code, ast.Constant):
                    raise SystemExit(f"{file}:{call.lineno}: give the {name} a code in quotes")
                if code.value != named[name].code:
                    yield named[name], str(code.value)


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
