"""JSON with comments, TOML and YAML keep every byte that nobody asked to change."""

from __future__ import annotations

import json
import tomllib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram_py.interfaces.setup.formats import MISSING, Document, UnreadableTextError
from tests.support import DEEP

SERVER = {"command": "/opt/engram", "args": ["mcp"]}
PATH = ("mcpServers", "engram")

TEXTS = {
    "comments-and-trailing-commas": '// top\n{\n  // one\n  "a": 1, // about a\n  "mcpServers": {\n'
    '    "x": {"command": "y",}, /* keep */\n  },\n}\n// end\n',
    "tabs": '{\n\t"a": [1, 2],\n\t"mcpServers": {\n\t\t"x": {}\n\t}\n}',
    "crlf": '{\r\n    "mcpServers": {\r\n        "x": {"command": "y"} // keep\r\n    }\r\n}\r\n',
    "one-line": '{"mcpServers": {"x": {"command": "y"}}, "n": -0.0, "e": 1e3}',
    "escapes": '{"\\u00e9": "\\ud83d\\ude00 \\/ tab\\t", "mcpServers": {"x": {}}}',
    "blank-lines": '\n\n{\n\n  "mcpServers": {\n\n    "x": {}\n\n  }\n\n}\n\n\n',
    "mixed-line-ends": '{\r\n  "a": 1, // x\r\n  "mcpServers": {\n    "x": 1\n  }\n}\n',
    "comment-before-the-brace": '{"mcpServers": {"x": 1 // why\n}}',
}


def read(text: str) -> Document:
    return Document(text, "json")


def changed(text: str) -> Document:
    document = read(text)
    document.set(PATH, SERVER)
    return document


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_adding_a_member_and_removing_it_gives_the_same_bytes(text: str) -> None:
    document = read(changed(text).text())
    document.remove(PATH)
    assert document.text() == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_all_lines_that_were_there_stay_in_their_order(text: str) -> None:
    lines = iter(changed(text).text().replace(",", "").splitlines())
    kept = [line for line in text.replace(",", "").splitlines() if "{" not in line]
    assert all(line in lines for line in kept)
    assert read(changed(text).text()).get(PATH) == SERVER


ENTRY = '"engram": {"command": "/opt/engram", "args": ["mcp"]}'


@pytest.mark.parametrize(
    ("text", "changed_text"),
    [
        pytest.param(
            '{\n\t"mcpServers": {\n\t\t"x": {}, // keep\n\t},\n}\n',
            '{\n\t"mcpServers": {\n\t\t"x": {}, // keep\n\t\t"engram": {\n\t\t\t"command": "/opt/engram",\n'
            '\t\t\t"args": [\n\t\t\t\t"mcp"\n\t\t\t]\n\t\t},\n\t},\n}\n',
            id="as-its-neighbours",
        ),
        pytest.param('{"mcpServers": {}}', f'{{"mcpServers": {{{ENTRY}}}}}', id="one-line"),
        pytest.param('{"mcpServers": {"engram": { "command" : "/opt/engram", "args": ["mcp",] }}}', None, id="equal"),
    ],
)
def test_a_member_is_written_as_its_neighbours_are_and_an_equal_one_not_at_all(
    text: str, changed_text: str | None
) -> None:
    assert changed(text).text() == (changed_text or text)
    lines = changed(TEXTS["crlf"]).text()
    assert lines.count("\n") == lines.count("\r\n") > 8


@pytest.mark.parametrize("text", ["", " \n", "{}", "{\n}\n", '{"mcpServers": {}}'])
def test_what_is_empty_gets_the_objects_it_lacks(text: str) -> None:
    assert json.loads(changed(text).text()) == {"mcpServers": {"engram": SERVER}}


def test_of_two_members_with_one_name_the_later_is_the_one_that_counts() -> None:
    document = changed('{"mcpServers": {"engram": 1}, "mcpServers": {"engram": 2}}')
    assert document.text().startswith('{"mcpServers": {"engram": 1}')
    assert json.loads(document.text())["mcpServers"]["engram"] == SERVER


def test_items_come_to_the_end_of_a_list_and_go_again() -> None:
    text = '{\n  "hooks": {"Stop": [\n    {"k": 1}, // first\n  ]}\n}\n'
    document = read(text)
    document.set(("hooks", "Stop", 1), {"ours": True})
    assert document.get(("hooks", "Stop")) == [{"k": 1}, {"ours": True}]
    again = read(document.text())
    again.remove(("hooks", "Stop", 1))
    assert again.text() == text


def test_removing_the_first_or_the_middle_member_leaves_the_comments_of_the_others() -> None:
    document = read('{\n  "a": 1,\n  // about b\n  "b": 2,\n  "c": 3, // about c\n  "d": 4\n}\n')
    document.remove(("a",))
    document.remove(("c",))
    assert document.text() == '{\n  // about b\n  "b": 2, // about c\n  "d": 4\n}\n'


def test_a_big_file_with_comments_is_edited_as_any_other() -> None:
    whole = {"projects": {f"/p{n}": {"history": ["x" * 20] * 3} for n in range(3000)}, "mcpServers": {"x": {}}, "z": 1}
    text = json.dumps(whole, indent=2) + "\n// mine" * 100_000
    document = read(text)
    document.set(PATH, SERVER)
    assert document.get(()) == whole | {"mcpServers": {"x": {}, "engram": SERVER}}
    document.remove(PATH)
    assert document.text() == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1', id="cut-off"),
        pytest.param('{"a" 1}', id="no-colon"),
        pytest.param('{"a": 1} more', id="more-behind-it"),
        pytest.param("[1, 2]", id="a-list"),
        pytest.param('"text"', id="a-string"),
        pytest.param("<xml/>", id="xml"),
        pytest.param("// nothing but a comment\n", id="only-a-comment"),
        pytest.param('{"a":' + "[" * DEEP + "]" * DEEP + "}", id="too-deep"),
    ],
)
def test_what_cannot_be_parsed_is_refused(text: str) -> None:
    with pytest.raises(UnreadableTextError):
        read(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=4), VALUES, max_size=4),
    st.sampled_from([None, 1, 2, "\t"]),
    st.sampled_from(["engram", "é", ""]),
)
def test_any_object_takes_a_member_and_gives_it_back(whole: dict[str, Any], indent: Any, name: str) -> None:
    text = json.dumps(whole, indent=indent, ensure_ascii=False)
    document = read(text)
    if document.get(("a-new-name",)) is MISSING:
        document.set(("a-new-name",), {name: [1]})
        assert json.loads(document.text()) == whole | {"a-new-name": {name: [1]}}
        document.remove(("a-new-name",))
        assert json.loads(document.text()) == whole
        assert document.text() == text or not whole


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{\n  // mine\n  "php": {"command": "C:\\\\xampp\\\\php.exe"}\n}\n', id="a-windows-path"),
        pytest.param('{"a": "one\u2028two", /* "\u2028" */ "b": "\\\\\u2029x"}', id="line-separators"),
        pytest.param('{"C:\\\\xampp": {"\\\\x": "\\u005cx"}}', id="in-a-name"),
        pytest.param('{"a": ' + "[" * 300 + "]" * 300 + "}", id="deep"),
    ],
)
def test_every_valid_json_takes_a_member_and_keeps_its_bytes(text: str) -> None:
    document = read(text)
    document.set(PATH, SERVER | {"command": "C:\\xavier\\engram.exe"})
    assert document.get(PATH)["command"] == "C:\\xavier\\engram.exe"
    assert '"C:\\\\xavier\\\\engram.exe"' in document.text()
    document.remove(PATH[:1])
    assert document.text() == text


TABLE = {"command": "/bin/engram", "args": ["mcp"], "env": {"A": "1"}}
TABLE_PATH = ("mcp_servers", "engram")

FILES = [
    pytest.param("", id="empty"),
    pytest.param("a = 1", id="no-line-end"),
    pytest.param('mcp_servers = { other = { command = "x" } }\nmodel = "a"\n', id="inline-table"),
    pytest.param("mcp_servers = {}\n[tui]\na = 1\n", id="empty-inline-table"),
    pytest.param('mcp_servers.other.command = "x"\nmodel = "y"\n', id="dotted-keys"),
    pytest.param('[[p]]\nn = 1\n\n[mcp_servers.two]\ncommand = "y"\n\n[[p]]\nn = 2\n', id="tables-between-an-array"),
    pytest.param("[mcp_servers.a]\nx = 1\n[tui]\na = 1\n[mcp_servers.b]\nx = 2\n", id="tables-apart"),
    pytest.param('[[a.b]]\nx = 1\n[mcp_servers.q]\nc = "1"\n[[a.b]]\nx = 2\n[a.c]\ny = 1\n', id="arrays-below"),
    pytest.param('["mcp_servers"."x y"]\ncommand = "q"\n', id="quoted-names"),
    pytest.param('[[p]]\ns = """\n[mcp_servers.engram]\n"""\n[t]\na = [\n["b"]\n]\n[[p]]\n', id="headers-in-values"),
    pytest.param("[a]\r\nb = 1\r\n[[c]]\r\nd = 1\r\n", id="windows"),
]


@pytest.mark.parametrize("text", FILES)
def test_every_valid_file_takes_a_table_and_says_the_rest_as_before(text: str) -> None:
    wanted = deepcopy(before := tomllib.loads(text))
    wanted.setdefault("mcp_servers", {})["engram"] = TABLE

    document = Document(text, "toml")
    document.set(TABLE_PATH, TABLE)
    assert tomllib.loads(written := document.text()) == wanted
    document.set(TABLE_PATH, TABLE)
    assert document.text() == written

    document.remove(TABLE_PATH)
    left = tomllib.loads(document.text())
    assert {name: value for name, value in left.items() if value} == {k: v for k, v in before.items() if v}


@pytest.mark.parametrize("text", FILES)
def test_no_line_that_was_there_is_lost_or_moved(text: str) -> None:
    document = Document(text, "toml")
    document.set(TABLE_PATH, TABLE)
    lines = iter(document.text().split("\n"))
    assert all(line in lines for line in text.split("\n") if line and "{" not in line)


def test_an_earlier_table_of_ours_is_replaced_with_those_below_it() -> None:
    text = '[[p]]\na = 1\n[mcp_servers.engram]\ncommand = "old"\n[mcp_servers.engram.tools.x]\nb = 1\n# of p\n[[p]]\n'
    document = Document(text, "toml")
    document.set(TABLE_PATH, TABLE)
    assert tomllib.loads(document.text())["mcp_servers"] == {"engram": TABLE}
    assert "# of p\n[[p]]\n" in document.text()


@pytest.mark.parametrize("around", ["\n{}", "\n{}\n", "{}\n"])
def test_a_table_between_two_others_leaves_one_empty_line(around: str) -> None:
    ours = '[mcp_servers.engram]\ncommand = "x"\n[mcp_servers.engram.env]\nA = "1"\n'
    document = Document("[a]\nx = 1\n" + around.format(ours) + "[b]\n", "toml")
    document.remove(TABLE_PATH)
    assert document.text() == "[a]\nx = 1\n\n[b]\n"


GOOSE = {"type": "stdio", "cmd": "/opt/engram", "args": ["mcp"], "enabled": True, "envs": {}}
YAMLS = {
    "nothing": "",
    "comments-alone": "# Mine.\n",
    "no-extensions": "GOOSE_MODE: auto # mine\n\n# end",
    "empty-extensions": "a: 1\nextensions:   # mine\n\nb: 2\n",
    "no-newline-at-the-end": "extensions:\n  x:\n    enabled: true",
    "four-blanks": "extensions:\n    x:\n        args:\n        - a\n        - >-\n          b\n\n          c\n"
    "# end\nb: [1,\n  2]\n",
    "braces-below": "extensions:\n  x: {enabled: true,\n      args: []} # x\n  # last\nb: 2\n",
    "crlf": "a: 1\r\nextensions:\r\n  x:\r\n    enabled: true\r\nb: 2\r\n",
}


@pytest.mark.parametrize("text", YAMLS.values(), ids=YAMLS)
def test_an_extension_is_added_to_yaml_and_every_other_line_stays(text: str) -> None:
    document = Document(text, "yaml")
    document.set(("extensions", "engram"), GOOSE)

    assert Document(document.text(), "yaml").get(("extensions", "engram")) == GOOSE
    left = iter(document.text().splitlines())
    assert all(line in left for line in text.splitlines())
    document.remove(("extensions", "engram"))
    assert "engram" not in document.text()
    assert Document(document.text(), "yaml").get(("extensions", "x")) == Document(text, "yaml").get(("extensions", "x"))


def test_empty_braces_make_room_for_an_extension() -> None:
    document = Document("a: 1\nextensions: {}\nb: 2\n", "yaml")
    document.set(("extensions", "engram"), GOOSE)
    assert document.text().startswith("a: 1\nextensions:\n  engram:\n")


def test_an_extension_of_our_name_is_replaced_where_it_stands() -> None:
    theirs = "extensions:\n  engram:\n    cmd: other\n    args:\n    - serve\n\n  # theirs\n  x:\n    enabled: true\n"
    document = Document(theirs, "yaml")
    document.set(("extensions", "engram"), GOOSE)

    assert document.get(("extensions", "engram")) == GOOSE
    assert document.text().endswith("\n\n  # theirs\n  x:\n    enabled: true\n")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("extensions: {x: {enabled: true}}\n", id="braces"),
        pytest.param("extensions:\n- x\n", id="a-list"),
        pytest.param("extensions: all\n", id="a-text"),
        pytest.param("a: [1\n", id="no-yaml"),
        pytest.param("- 1\n", id="a-list-alone"),
        pytest.param("a: 1\n---\nb: 2\n", id="two-documents"),
    ],
)
def test_yaml_that_cannot_be_edited_by_lines_is_refused(text: str) -> None:
    with pytest.raises(UnreadableTextError):
        Document(text, "yaml").set(("extensions", "engram"), GOOSE)
