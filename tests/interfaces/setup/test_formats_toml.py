"""TOML as people write it: each valid file takes our table, says what it said, and gives the table back."""

from __future__ import annotations

import tomllib
from copy import deepcopy

import pytest

from engram_py.interfaces.setup.formats import Document

SERVER = {"command": "/bin/engram", "args": ["mcp"], "env": {"A": "1"}}
PATH = ("mcp_servers", "engram")

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
    wanted.setdefault("mcp_servers", {})["engram"] = SERVER

    document = Document(text, "toml")
    document.set(PATH, SERVER)
    assert tomllib.loads(written := document.text()) == wanted
    document.set(PATH, SERVER)
    assert document.text() == written

    document.remove(PATH)
    left = tomllib.loads(document.text())
    assert {name: value for name, value in left.items() if value} == {k: v for k, v in before.items() if v}


@pytest.mark.parametrize("text", FILES)
def test_no_line_that_was_there_is_lost_or_moved(text: str) -> None:
    document = Document(text, "toml")
    document.set(PATH, SERVER)
    lines = iter(document.text().split("\n"))
    assert all(line in lines for line in text.split("\n") if line and "{" not in line)


def test_an_earlier_table_of_ours_is_replaced_with_those_below_it() -> None:
    text = '[[p]]\na = 1\n[mcp_servers.engram]\ncommand = "old"\n[mcp_servers.engram.tools.x]\nb = 1\n# of p\n[[p]]\n'
    document = Document(text, "toml")
    document.set(PATH, SERVER)
    assert tomllib.loads(document.text())["mcp_servers"] == {"engram": SERVER}
    assert "# of p\n[[p]]\n" in document.text()


@pytest.mark.parametrize("around", ["\n{}", "\n{}\n", "{}\n"])
def test_a_table_between_two_others_leaves_one_empty_line(around: str) -> None:
    ours = '[mcp_servers.engram]\ncommand = "x"\n[mcp_servers.engram.env]\nA = "1"\n'
    document = Document("[a]\nx = 1\n" + around.format(ours) + "[b]\n", "toml")
    document.remove(PATH)
    assert document.text() == "[a]\nx = 1\n\n[b]\n"
