"""The table of operations fits the services, and every interface that offers one gives the same value."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.errors import EngramError
from engram_py.base.settings import Settings
from engram_py.base.times import fixed_clock
from engram_py.interfaces import operations
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.operations import OBSERVATION, Operation, Parameter
from engram_py.interfaces.wording import render
from tests.interfaces.http.asking import asker

NOW = "2026-03-01T12:00:00Z"
ROWS = {name: row for name, row in vars(operations).items() if isinstance(row, Operation)}
_KINDS = {list: "list", OBSERVATION: "int"}


@pytest.mark.parametrize("name", sorted(ROWS.keys() - {"SAVE", "UPDATE"}))  # their values are `Draft` and `Change`
def test_each_parameter_is_an_argument_of_the_service_of_the_same_kind(app: Engram, name: str) -> None:
    row = ROWS[name]
    method = row.method(app)
    arguments = inspect.signature(method).parameters
    takes_more = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in arguments.values())
    for one in row.parameters:
        own = one.named or one.name
        assert own in arguments or takes_more, f"{method.__qualname__} has no {own}"
        if own in arguments and one.kind is not list:
            kind = _KINDS.get(one.kind, getattr(one.kind, "__name__", ""))
            assert kind in str(arguments[own].annotation), f"{own} of {method.__qualname__} is no {kind}"
    needed = {
        name
        for name, one in arguments.items()
        if one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_KEYWORD
    }
    assert needed == {one.named or one.name for one in row.parameters if one.needed}


@pytest.mark.parametrize("name", sorted(ROWS))
def test_what_commands_and_routes_say_of_a_parameter_names_the_syntax_of_neither(name: str) -> None:
    described = [one.description for one in ROWS[name].parameters]
    assert not [text for text in described if re.search(r"`engram|mem_|--[a-z]|standard input", text)]


class Offered(NamedTuple):
    """Where an operation is offered besides Python: a tool, a command, a route."""

    tool: str = ""
    command: str = ""
    route: str = ""


OFFERED = {
    "SAVE": Offered("mem_save", "save", "POST /observations"),
    "UPDATE": Offered("mem_update", "update", "PATCH /observations/{id}"),
    "SEARCH": Offered("mem_search", "", ""),
    "CONTEXT": Offered("mem_context", "", ""),  # the command refuses a project that nobody knows
    "TIMELINE": Offered("mem_timeline", "timeline", ""),
    "SUGGEST_TOPIC_KEY": Offered("mem_suggest_topic_key", "", "POST /topic-keys/suggest"),
    "SAVE_PROMPT": Offered("mem_save_prompt", "", "POST /prompts"),
    "CAPTURE": Offered("mem_capture_passive", "", "POST /observations/passive"),
    "IMPORT_VAULT": Offered("", "vault import", "POST /vault/import"),
    "LIST_ENTITIES": Offered("", "entity list", "GET /entities"),
    "SHOW_ENTITY": Offered("", "entity show", "GET /entities/{entity}"),
    "ENTITY_GRAPH": Offered("", "entity graph", "GET /entities/{entity}/graph"),
    "LINK_ENTITIES": Offered("", "entity link", "POST /entities/{entity}/links"),
    "ALIAS_ENTITY": Offered("", "entity alias", "POST /entities/{entity}/aliases"),
    "MERGE_ENTITIES": Offered("", "entity merge", "POST /entities/{entity}/merge"),
    "ARCHIVE_ENTITY": Offered("", "entity archive", "POST /entities/{entity}/archive"),
    "ADD_FACT": Offered("mem_fact", "fact add", "POST /facts"),
    "LIST_FACTS": Offered("mem_fact", "fact list", "GET /facts"),
    "ADD_STATEMENT": Offered("", "identity add", "POST /identity"),
    "LIST_STATEMENTS": Offered("", "identity list", "GET /identity"),
    "REMOVE_STATEMENT": Offered("", "identity remove", "DELETE /identity/{statement}"),
    "SHOW_PROFILE": Offered("", "identity profile", "GET /identity/profile"),
    "WRITE_PROFILE": Offered("", "", "PUT /identity/profile"),
    "ADD_NOTE": Offered("mem_note", "", "POST /notes"),
    "LIST_NOTES": Offered("mem_note", "", "GET /notes"),
    "WRITE_FILE": Offered("mem_write", "vault write", "POST /memory/file"),
    "READ_FILE": Offered("mem_get", "", ""),
    "LIST_FILES": Offered("mem_get", "", ""),
    "JUDGE": Offered("mem_judge", "", "POST /conflicts/judge"),
    "COMPARE": Offered("mem_compare", "", "POST /conflicts/compare"),
}
# Of each argument, by its name or else by its kind: values that are right, and values that are wrong or odd.
_RIGHT: dict[Any, list[Any]] = {
    "entity": ["api", "ledger", "Dana Reyes"],
    "into": ["api", "Payments"],
    "object": ["api", "Payments"],
    "predicate": ["calls", "depends_on"],
    "scope": [None, "project", "personal"],
    "project": [None, "widgets", "gizmos"],
    "session_id": [None, "s-1"],
    "date": [None, "2026-02-14"],
    "day": [None, "2026-03-01", "today"],
    "expires_at": [None, "2026-03-14", "never"],
    "find": [None],
    "replace": [None],
    "relation": ["supersedes", "related"],
    "judgment_id": ["rel-0123456789abcdef"],
    "path": ["a.md", "notes/a.md"],
    "under": [None, "notes"],
    "statement": ["3", "Answer in German"],
    "topic_key": [None, "db/wal"],
    "query": ["access tokens", "what do we do about retries?"],
    "mode": [None, "session", "full"],
    "budget_tokens": [None, 100],
    "in": [None, "all"],
    "match_mode": ["all", "any"],
    "sort": [None, "recency"],
    "as_of": [None, "2026-03-01"],
    "collection": [None],
    "limit": [None, 5],
    "max_bytes": [None, 500],
    "memory_id_a": [1],
    "memory_id_b": [2],
    str: ["It runs on Debian in the cellar", "It runs on Fedora in the attic"],
    bool: [None, True, False],
    int: [None, 1, 2],
    float: [0.5, 1.0],
    list: [["one"], ["one", "Other"]],
    OBSERVATION: [1, 2],
}
_ODD: dict[Any, list[Any]] = {
    "entity": ["nobody", "Ünïcode 漢", "a/b", "", " ", "x" * 300],
    "project": ["Other One", "a/b", " "],
    "path": ["../a.md", "", "a.exe", "missing.md"],
    str: ["", " \n", "#1", "nothing such", "-", "x" * 60_000],
    bool: [None],
    int: [0, 9, -1],
    float: [-1.0, 7.0],
    list: [[" "], ["one", "ONE"]],
    OBSERVATION: [99, 0],
}
# What two writes of the same thing cannot share, and words that each interface spells in its own way.
_OWN = {"seconds", "sync_id", "session_id", "judgment_id", "agent", "origin", "warnings", "hint"}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw an operation and arguments for it, some of them wrong."""
    name = draw(st.sampled_from(sorted(ROWS)))
    listed = [one for one in ROWS[name].parameters if one.tool is not None or one.option is not None]
    odd = draw(st.none() | st.sampled_from(listed))
    drawn = {one: draw(st.sampled_from(_values(_ODD if one is odd else _RIGHT, one))) for one in listed}
    return name, {one.name: value for one, value in drawn.items() if value is not None}


def _values(pool: dict[Any, list[Any]], one: Parameter) -> list[Any]:
    return pool.get(one.name, pool[one.kind])


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a memory with two observations, an entity, a fact and a statement."""
    data_dir = tmp_path_factory.mktemp("seed") / "data"
    with _opened(data_dir, None) as app:
        app.save(Draft("Access tokens live 15 minutes", "Stolen access tokens expire.", "decision"), project="widgets")
        app.save(Draft("Retries back off", "Twice, then by the minute.", "pattern"), project="widgets")
        app.identity.add("Answer in German")
        app.facts.add("api", "It runs on Debian in the cellar", project="widgets")
        app.entities.link("ledger", "calls", "api", project="widgets")
    return data_dir / "engram.db"


@contextmanager
def _opened(data_dir: Path, seed: Path | None) -> Iterator[Engram]:
    if seed is not None:
        data_dir.mkdir(mode=0o700)
        shutil.copy(seed, data_dir)
    settings = Settings(data_dir, clock=fixed_clock(NOW))
    with Engram(settings=settings, directory=data_dir.parent / "widgets") as app:
        yield app


def by_python(name: str, given: dict[str, Any], data_dir: Path, seed: Path) -> Any:
    with _opened(data_dir, seed) as app:
        try:
            return render.to_json(ROWS[name](app, given), "python")
        except EngramError as exc:
            return exc.code


def by_tool(name: str, given: dict[str, Any], data_dir: Path, seed: Path) -> Any:
    tool = declared()[OFFERED[name].tool]
    with _opened(data_dir, seed) as app:
        try:
            values, _ = tool.parse(given)
            return render.to_json(tool.function(app, **values), "mcp")
        except EngramError as exc:
            return exc.code


def by_command(name: str, given: dict[str, Any], data_dir: Path, seed: Path) -> Any:
    words, last = ["--data-dir", str(data_dir), *OFFERED[name].command.split(), "--json"], list[str]()
    for one in ROWS[name].parameters:
        value = given.get(one.name)
        words_of = (one.option or f"--{one.name.replace('_', '-')}").split()
        option = next(word for word in words_of if word.startswith("--"))
        if value is None or one.option is None:
            continue
        if one.needed and not one.option:
            last += value if isinstance(value, list) else [str(value)]
        elif isinstance(value, list):
            words += [word for each in value for word in (option, each)]
        elif value is not False:
            words += [option] if value is True else [option, str(value)]
    with _opened(data_dir, seed):
        pass
    done = CliRunner().invoke(cli, [*words, "--", *last], input="-", prog_name="engram")
    found = json.loads(done.stdout)
    return found["error_code"] if done.exit_code else found


def by_route(name: str, given: dict[str, Any], data_dir: Path, seed: Path) -> Any:
    method, path = OFFERED[name].route.split()
    parts = re.findall(r"{(\w+)}", path)
    target = path.format(**{part: quote(str(given[part]), safe="") for part in parts})
    rest = {one: value for one, value in given.items() if one not in parts}
    with _opened(data_dir, seed) as app:
        ask = asker(app)
        if method in ("GET", "DELETE"):
            pairs = {one: str(value).lower() if isinstance(value, bool) else value for one, value in rest.items()}
            reply = ask(method, f"{target}?{urlencode(pairs)}")
        else:
            reply = ask(method, target, rest)
    return reply.value if reply.status < 300 else reply.code


def _same(told: Any, expected: Any) -> bool:
    """Whether an answer says what Python's says; a route leaves out some of it."""
    match told, expected:
        case dict(), dict():
            return all(_same(told[key], expected[key]) for key in (told.keys() & expected.keys()) - _OWN)
        case list(), dict():  # a route answers the items of a list alone
            return _same(told, next(iter(expected.values())))
        case list(), list():
            return len(told) == len(expected) and all(map(_same, told, expected))
    return bool(_time(told) == _time(expected))


def _time(value: Any) -> Any:
    """Return a time as Engram's routes spell it, anything else as it is."""
    return re.sub(r"^(\d{4}-\d\d-\d\d)T([\d:]{8})\.\d+Z$", r"\1 \2", value) if isinstance(value, str) else value


def _taken(name: str, arguments: dict[str, Any], by: object) -> dict[str, Any]:
    """Return the arguments that an interface takes: a command has no option for some, and a path has no empty part."""
    options = {one.name for one in ROWS[name].parameters if one.option is not None}
    parts = re.findall(r"{(\w+)}", OFFERED[name].route)
    if by is by_command:
        return {one: value for one, value in arguments.items() if one in options}
    if by is by_route:
        return {one: "-" if one in parts and value == "" else value for one, value in arguments.items()}
    return arguments


_NUMBER = count()


@settings(suppress_health_check=list(HealthCheck), deadline=None)
@given(call=calls())
def test_an_operation_answers_the_same_by_python_tool_command_and_route(
    call: tuple[str, dict[str, Any]], seed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, arguments = call
    root = tmp_path / str(next(_NUMBER))
    (root / "widgets").mkdir(parents=True)
    monkeypatch.setenv("ENGRAM_NOW", NOW)
    monkeypatch.chdir(root / "widgets")
    offered = OFFERED[name]
    for door, by in ((offered.tool, by_tool), (offered.command, by_command), (offered.route, by_route)):
        if door:
            taken = _taken(name, arguments, by)
            expected = by_python(name, taken, root / f"python_{by.__name__}", seed)
            told = by(name, taken, root / by.__name__, seed)
            assert _same(told, expected), f"{name} {taken}\n{door}: {told}\npython: {expected}"
