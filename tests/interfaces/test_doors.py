"""Each door names its own syntax: a terminal commands, an agent tools, a program routes."""

from __future__ import annotations

import ast
from pathlib import Path
from string import Formatter

import pytest

import engram_py
from engram_py import Draft, Engram
from engram_py.errors import EngramError
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.reasons import Door, call, spelled
from engram_py.reasons import PYTHON, operation, sentence

PACKAGE = Path(engram_py.__file__).parent
DOORS: tuple[Door, ...] = ("python", "cli", "mcp", "http")

# Who reads these texts has the tools, whatever started the program.
FOR_MODELS = ("interfaces/mcp", "interfaces/hook", "interfaces/setup", "interfaces/cli/demo.py")


def said(app: Engram, value: object, door: Door) -> str:
    return render.text(value, now=app.journal.moment(), door=door)


def _strings(path: Path) -> set[str]:
    """The texts of a module that a caller may read: its constants without its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    doc = {ast.get_docstring(one, clean=False) for one in ast.walk(tree) if isinstance(one, documented)}
    return {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)} - doc


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_text_that_all_doors_share_names_a_tool(path: Path) -> None:
    name = path.relative_to(PACKAGE).as_posix()
    if name == "interfaces/wording/reasons.py" or name.startswith(FOR_MODELS):
        return
    named = {text for text in _strings(path) if "mem_" in text.replace("claude_mem_", "")}
    assert not named - {"list: Engram's list of hits, the default of GET; json: what mem_search answers, with "
                        "notes and why there is nothing, the default of POST."}  # fmt: skip


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
        assert told[0] == str(operation(name, **values))


def test_a_sentence_of_a_sentence_is_spelled_whole() -> None:
    inner = sentence("ask with ", operation("search"))
    assert spelled(sentence("no; ", inner, "."), "mcp") == "no; ask with mem_search."
    assert str(sentence("no; ", inner, ".")) == "no; ask with search()."
