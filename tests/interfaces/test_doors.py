"""Each door names its own syntax, and answers any query in time."""

from __future__ import annotations

import ast
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any
from urllib.parse import quote

import anyio
import click
import pytest
from click.testing import CliRunner
from mcp import Client

import engram_py
from engram_py import Draft, Engram
from engram_py.base.errors import EngramError
from engram_py.base.reasons import PYTHON, sentence
from engram_py.base.reasons import operation as python_call
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.cli.observations import save_command, update_command
from engram_py.interfaces.http.routing import ROUTES
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.operations import SAVE, UPDATE, Operation
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.reasons import Door, call, spelled
from engram_py.memory.observations.values import EDITED, Change
from tests import forked
from tests.interfaces.http.asking import Running, serving_many
from tests.interfaces.mcp.agent import Agent, Exchange, exchange, tool_call

PACKAGE = Path(engram_py.__file__).parent
DOORS: tuple[Door, ...] = ("python", "cli", "mcp", "http")

# Who reads these texts has the tools, whatever started the program.
FOR_MODELS = (
    "interfaces/mcp",
    "interfaces/operations.py",
    "interfaces/hook",
    "interfaces/setup",
    "interfaces/cli/demo.py",
)


def said(app: Engram, value: object, door: Door) -> str:
    return render.text(value, now=app.journal.moment(), door=door)


def _strings(path: Path) -> set[str]:
    """The texts of a module that names tools, as a caller may read them: its constants without its docstrings."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text if "mem_" in text else "")
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    doc = {ast.get_docstring(one, clean=False) for one in ast.walk(tree) if isinstance(one, documented)}
    return {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)} - doc


def test_no_text_that_all_doors_share_names_a_tool() -> None:
    shared = [
        path
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith(("interfaces/wording/reasons.py", *FOR_MODELS))
    ]
    named = {text for path in shared for text in _strings(path) if "mem_" in text.replace("claude_mem_", "")}
    assert not named - {"list: Engram's list of hits (default of GET); json: the answer of mem_search, with notes "
                        "(default of POST)."}  # fmt: skip


@pytest.mark.parametrize(
    ("door", "opens", "others"),
    [
        pytest.param("cli", "`engram get 1`", ("mem_", "GET ", "get(1)"), id="cli"),
        pytest.param("mcp", "mem_get_observation(id=1)", ("`engram", "GET ", "get(1)"), id="mcp"),
        pytest.param("http", "GET /observations/1", ("`engram", "mem_", "get(1)"), id="http"),
        pytest.param("python", "get(1)", ("`engram", "mem_", "GET "), id="python"),
    ],
)
def test_a_match_names_how_this_door_shows_it_and_no_other(
    app: Engram, door: Door, opens: str, others: tuple[str, ...]
) -> None:
    app.save(Draft("Raised the timeout", "To 30 seconds."))
    head = said(app, app.search("timeout"), door).splitlines()[0]
    block = said(app, app.contexts.assemble(), door)
    with pytest.raises(EngramError) as refused:
        app.get(99)
    failure = render.error_text(refused.value, door)

    assert head == f"1 match. {opens} shows it."
    for text in (head, block, failure):
        assert not [other for other in others if other in text]
    assert render.error_values(refused.value, door)["hint"] in failure


def test_a_context_that_two_doors_ask_for_is_worded_for_each(app: Engram) -> None:
    for number in range(9):
        app.save(Draft(f"Chose color {number}", f"Of hue {number}.", "decision"))
    context = app.contexts.assemble(query="what did we decide this week?", budget_tokens=100)
    more = {door: said(app, context, door).partition("more saved then: ")[2].partition("since:")[0] for door in DOORS}

    assert more == {
        "python": 'search("',
        "cli": "`engram search '",
        "mcp": 'mem_search("',
        "http": "GET /search with q=",
    }


def test_every_operation_has_a_name_at_every_door() -> None:
    for name, python in PYTHON.items():
        values = {field: field for _, field, _, _ in Formatter().parse(python) if field}
        told = [call(door, name, **values) for door in DOORS]
        assert all(told)
        assert told[0] == str(python_call(name, **values))


def test_a_sentence_of_a_sentence_is_spelled_whole() -> None:
    inner = sentence("ask with ", python_call("search"))
    assert spelled(sentence("no; ", inner, "."), "mcp") == "no; ask with mem_search."
    assert str(sentence("no; ", inner, ".")) == "no; ask with search()."


MEGABYTE = 1_000_000
# Of one argument Linux takes 128 KiB.
LONGEST_ARGUMENT = 100_000
PATIENCE_SECONDS = 10.0

LONG = {
    "words": "timeout " * (MEGABYTE // 8),
    "one-word": "x" * MEGABYTE,
    "emoji": "🎉" * (MEGABYTE // 4),
    "cjk": "漢字" * (MEGABYTE // 6),
    "combining": "e" + "\u0301" * (MEGABYTE // 2),
    "quotes": '"a" ' * (MEGABYTE // 4),
    "exclusions": "-a " * (MEGABYTE // 3),
    "filters": "type:bug " * (MEGABYTE // 9),
    "handles": "#1 " * (MEGABYTE // 3),
    "brackets": "(" * MEGABYTE,
}
ODD = {
    "word": "timeout",
    "phrase": '"the timeout"',
    "either-type": "type:bugfix,decision timeout",
    "filters": "is:pinned project:widgets scope:project since:1d timeout",
    "not-understood": "timeout scope:team colour:red",
    "misspelt": "timeuot",
    "handle": "#2",
    "operators": 'AND OR NOT NEAR( ) * ^ : ""',
    "quote": '"',
    "quotes": '"""" \'\'\' “ „ «',
    "emoji": "🎉👩‍👩‍👧‍👦",
    "nul": "time\0out timeout",
    "right-to-left": "\u202etuoemit\u202c timeout",
    "marks-alone": "\u202e\u200f\u2066",
    "one-letter": "a",
    "one-character": "字",
    "stop-words-en": "the of and is",
    "stop-words-de": "der die das und ist",
    "stop-words-ru": "и в не на",
    "stop-words-zh": "的 了 是",
    "stop-words-ar": "في من على",
    "ten-thousand-words": " ".join(f"w{number}" for number in range(10_000)),
    "no-such-day": "timeout since:2026-02-30",
    "a-huge-span": "timeout since:9999999999d until:10000-01-01",
    "below-zero": "until:-1 since:0000-00-00",
    "id-too-large": "#99999999999999999999",
    "handles": "[#1] #2, #999999999999999999",
    "terminal": "\x1b[2J\x07timeout\r\n",
    "sql": "%_\\'; drop table observations; --",
    "percent": "%00%ff",
    "minus": "--",
    "only-excluded": "-timeout",
}
# JSON can hold half a character; an address, an argument and the SDK's own HTTP cannot.
HALF = {"half": "timeout \ud83d", "half-alone": "\udc00"}
WHOLE = {f"long-{name}": query for name, query in LONG.items()} | ODD


@dataclass(frozen=True)
class Doors:
    server: Running
    room: Path
    stdio: Exchange

    def piped(self, query: str) -> Any:
        """What ``engram search --json -`` prints, in this process."""
        with chdir(self.room / "widgets"):
            command = ["--data-dir", str(self.room / "data"), "search", "--json", "--", "-"]
            done = CliRunner().invoke(cli, command, input=query.encode())
        assert done.exit_code == 0, done.output[-2_000:]
        return json.loads(done.stdout)

    def typed(self, *words: bytes, stdin: bytes = b"") -> Any:
        """The same of words or bytes, in a process of its own."""
        command = ["search", "--json", "--", *map(os.fsdecode, words)]
        environment = {"ENGRAM_DATA_DIR": str(self.room / "data")}
        code, stdout, stderr = forked.run(command, stdin=stdin, cwd=self.room / "widgets", environ=environment)
        assert code == 0, stderr[-2_000:]
        return json.loads(stdout)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    room = tmp_path_factory.mktemp("doors")
    with serving_many(room) as server:
        for title, content in (("Raised the timeout", "To 30 seconds."), ("Chose uv", "Installs are fast.")):
            assert server.ask("POST", "/observations", {"title": title, "content": content}).status == 201
        calls = [
            tool_call(f"{name} {form}", "mem_search", query=query, response_format=form)
            for name, query in {**WHOLE, **HALF}.items()
            for form in ("compact", "json")
        ]
        done = exchange(room / "widgets", calls, ENGRAM_DATA_DIR=str(room / "data"))
        assert done.status == 0
        yield Doors(server, room, done)


def answered(answer: dict[str, Any]) -> dict[str, Any]:
    """What every door says of a query: what was found, what was noted, why there is nothing."""
    return {
        "ids": [hit["id"] for hit in answer["results"]],
        **{name: answer.get(name) for name in ("query", "rung", "warnings", "silence", "unknown")},
    }


def in_time(started: float) -> bool:
    return time.monotonic() - started < PATIENCE_SECONDS


@pytest.mark.parametrize("name", WHOLE)
def test_every_door_answers_a_query_and_says_the_same(doors: Doors, name: str) -> None:
    query = WHOLE[name]
    expected = answered(json.loads(doors.stdio.text(f"{name} json")))
    started = time.monotonic()
    asked = doors.server.ask("GET", f"/search?response_format=json&q={quote(query)}")
    posted = doors.server.ask("POST", "/search", {"query": query})

    assert (asked.status, posted.status) == (200, 200), (asked.body[:500], posted.body[:500])
    assert answered(asked.value) == expected
    assert answered(posted.value) == expected
    through_a_pipe = doors.typed(b"-", stdin=query.encode()) if "\r" in query else doors.piped(query)
    assert answered(through_a_pipe) == expected
    if "\0" not in query and len(query.encode()) < LONGEST_ARGUMENT:
        assert answered(doors.typed(query.encode())) == expected
    assert in_time(started)


@pytest.mark.parametrize("name", [*WHOLE, *HALF])
def test_an_answer_is_short_and_has_a_sentence_for_what_was_done(doors: Doors, name: str) -> None:
    assert doors.stdio.to(f"{name} compact")["result"]["isError"] is False
    text = doors.stdio.text(f"{name} compact")
    query = {**WHOLE, **HALF}[name]

    assert len(text) < 4_000
    assert re.search(r"\b1 match\b|\d matches\b", text.splitlines()[0]) or " Next: " in text
    assert not set("\x1b\x07\0\u202e\u2066\udc00") & set(text.splitlines()[0])
    assert ("the query is long" in text) == (len(query) > 8_000)


@pytest.mark.parametrize("name", ["long-words", "long-emoji", "long-combining", "operators", "nul", "right-to-left"])
def test_the_tools_over_http_say_the_same(doors: Doors, name: str) -> None:
    async def call() -> dict[str, Any]:
        async with Client(doors.server.mcp(), mode="legacy") as client:
            return await Agent(client).value("mem_search", query=WHOLE[name])

    started = time.monotonic()
    assert answered(anyio.run(call)) == answered(json.loads(doors.stdio.text(f"{name} json")))
    assert in_time(started)


@pytest.mark.parametrize("name", HALF)
def test_half_a_character_is_read_as_a_question_mark_where_json_brings_it(doors: Doors, name: str) -> None:
    note = 'query held half a character, which was read as "?"'
    posted = doors.server.ask("POST", "/search", {"query": HALF[name]})
    listed = doors.server.ask("POST", "/search", {"query": HALF[name], "response_format": "list"})

    assert (posted.status, posted.value["warnings"]) == (200, [note])
    assert note in json.loads(listed.headers["x-engram-notes"])
    assert answered(posted.value) == answered(json.loads(doors.stdio.text(f"{name} json")))


def test_half_a_character_is_refused_where_nothing_can_carry_it(doors: Doors) -> None:
    refused = doors.server.ask("GET", "/search?q=" + quote(HALF["half"].encode("utf-8", "surrogatepass")))
    assert (refused.status, refused.code) == (400, "invalid_path")
    body = json.dumps(tool_call(1, "mem_search", query=HALF["half"])).encode()
    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    parsed = doors.server.ask("POST", "/mcp", body, headers)
    assert (parsed.status, parsed.value["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize(
    ("operation", "made", "tool", "route", "command"),
    [
        pytest.param(SAVE, Draft, "mem_save", "save_observation", save_command, id="save"),
        pytest.param(UPDATE, Change, "mem_update", "update_observation", update_command, id="update"),
    ],
)
def test_every_door_takes_every_field_of_a_save_and_an_update(
    operation: Operation[Any], made: type[Draft | Change], tool: str, route: str, command: click.Command
) -> None:
    named = {one.name for one in operation.parameters} - {"id", "project", "session_id"}
    [declared_route] = [one for one in ROUTES if one.name == route]
    assert named <= set(made.__match_args__)
    assert named <= declared()[tool].arguments.keys()
    assert named <= declared_route.models["body"].model_fields.keys()
    assert {one.name for one in operation.parameters if one.option is not None} <= {one.name for one in command.params}
    assert set(EDITED) <= named


def test_a_blank_query_is_refused_in_the_same_words(doors: Doors) -> None:
    blank = " \n" * (MEGABYTE // 2)
    refused = doors.server.ask("POST", "/search", {"query": blank})
    assert (refused.status, refused.code, len(refused.body) < 500) == (400, "empty_query", True)
    asked = doors.server.ask("GET", f"/search?q={quote(blank)}")
    assert (asked.status, asked.value) == (400, refused.value)


def test_bytes_that_are_no_text_are_answered_on_the_command_line(doors: Doors) -> None:
    for found in (doors.typed(b"timeout \xff\xed\xa0\x80"), doors.typed(b"-", stdin=b"timeout \xff\xed\xa0\x80")):
        assert [hit["id"] for hit in found["results"]] == [1]
