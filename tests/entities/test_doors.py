"""One behaviour through every door: the command line, MCP, HTTP and Python (row 134)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client

from engram_py import Engram
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.mcp.profiles import LAYERS
from engram_py.interfaces.mcp.server import build_server
from engram_py.settings import Settings
from tests.interfaces.http.asking import asker

FACT = "Alice works at Acme since May"
# A refusal is its code.
Door = Callable[..., Any]


def by_command(data_dir: Path) -> Door:
    def do(action: str, entity: str = "", **more: Any) -> Any:
        words = ["--data-dir", str(data_dir), "entity", action, *([entity] if entity else [])]
        words += [more[name] for name in ("predicate", "other") if name in more]
        words += ["--fact", more["fact"], "--kind", more["kind"]] if "fact" in more else []
        words += ["--depth", str(more["depth"])] if "depth" in more else []
        result = CliRunner().invoke(cli, [*words, "--json"], prog_name="engram")
        value = json.loads(result.stdout)
        assert (result.exit_code == 0) is ("error_code" not in value)
        return value.get("error_code", value)

    return do


def by_tool(data_dir: Path) -> Door:
    def do(action: str, entity: str = "", **more: Any) -> Any:
        arguments = {"action": action, "response_format": "json", **({"entity": entity} if entity else {}), **more}

        async def call() -> Any:
            async with Client(build_server(Settings(data_dir), tools="layers")) as client:
                return await client.call_tool("mem_entity", arguments)

        value = json.loads(anyio.run(call).content[0].text)
        return value.get("error_code", value)

    return do


def by_request(app: Engram) -> Door:
    ask = asker(app)

    def do(action: str, entity: str = "", **more: Any) -> Any:
        at = f"/entities/{entity}"
        match action:
            case "list":
                reply = ask("GET", "/entities")
            case "show":
                reply = ask("GET", at)
            case "graph":
                reply = ask("GET", f"{at}/graph?depth={more['depth']}")
            case "link":
                body = {"object": more.pop("other"), **more}
                reply = ask("POST", f"{at}/links", body)
            case "alias":
                reply = ask("POST", f"{at}/aliases", {"aliases": [more["other"]]})
            case "merge":
                reply = ask("POST", f"{at}/merge", {"into": more["other"]})
            case _:
                reply = ask("POST", f"{at}/archive", {"restore": action == "restore"})
        return reply.value.get("code", reply.value)

    return do


@pytest.mark.parametrize("door", ["cli", "mcp", "http"])
def test_row_134_every_door_does_the_same(
    app: Engram, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    monkeypatch.chdir(folder)
    do = {"cli": by_command, "mcp": by_tool}[door](data_dir) if door != "http" else by_request(app)

    assert do("link", "alice", predicate="WorksAt", other="acme-corp", fact=FACT, kind="person") == "invalid_argument"
    assert do("list")["entities"] == []
    linked = do("link", "alice", predicate="works_at", other="acme-corp", fact=FACT, kind="person")
    assert (linked["outcome"], linked["edge"]["object"], linked["edge"]["said"]) == ("added", "acme-corp", FACT)
    assert "candidate" in linked["warnings"][0]
    assert do("alias", "alice", other="Ali")["aliases"] == ["Ali"]
    reached = do("graph", "Ali", depth=9)
    assert (reached["depth"], [one["slug"] for one in reached["reached"]]) == (4, ["acme-corp"])
    shown = do("show", "Ali")
    assert (shown["entity"]["kind"], [one["text"] for one in shown["facts"]]) == ("person", [FACT])
    assert "## Current" in shown["summary"]
    assert do("merge", "acme-corp", other="alice")["merged"] == "acme-corp"
    assert do("merge", "acme-corp", other="alice") == "entity_refused"
    assert do("archive", "alice")["done"] == "archived"
    assert do("list")["entities"] == []
    assert do("show", "nobody") == "entity_not_found"


def test_words_for_a_reader(app: Engram, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def said(*words: str) -> str:
        result = CliRunner().invoke(cli, ["--data-dir", str(data_dir), "entity", *words], prog_name="engram")
        assert result.exit_code == 0, result.output
        return result.stdout

    assert said("list").strip() == "No entities"
    assert "Linked: alice works_at acme-corp [#1]" in said("link", "alice", "works_at", "acme-corp", "--fact", FACT)
    assert "Already known" in said("link", "alice", "works_at", "acme-corp")
    assert "alice is also called Ali" in said("alias", "alice", "Ali")
    assert "1 acme-corp: alice works_at acme-corp" in said("graph", "alice")
    assert "alice works_at acme-corp [#1]" in said("show", "Ali")
    assert "1 fact" in said("list")
    assert "Archived alice" in said("archive", "alice")
    assert "Restored alice" in said("archive", "alice", "--restore")


def test_the_tool_is_in_the_profile_layers_alone(app: Engram) -> None:
    assert "mem_entity" in LAYERS
