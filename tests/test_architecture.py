"""The rooms of STYLE.md: imports follow the arrow."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "engram_py"

# A room may import the rooms named here, and itself. `config` and `app` are modules that count as rooms.
MAY_IMPORT = {
    "doors": set[str](),
    "errors": {"doors"},
    "version": set[str](),
    "lean": set[str](),
    "models": {"errors"},
    "store": {"models", "errors"},
    "recall": {"models", "errors"},
    "capture": {"models", "errors"},
    "embed": {"models", "errors"},
    "project": {"models", "errors"},
    "sync": {"models", "errors"},
    "services": {"store", "recall", "capture", "embed", "project", "sync", "models", "errors", "doors"},
    # The team's server: a composition root of its own over PostgreSQL, which knows nothing of the SQLite memory.
    "cloud": {"sync", "models", "errors", "version"},
    "config": {"models", "errors"},
    "app": {"config", "services", "store", "project", "models", "errors"},
    "interfaces": {"app", "cloud", "config", "services", "project", "models", "errors", "doors", "version"},
    "__main__": {"interfaces", "lean"},
    "__init__": {"app", "models", "errors", "version"},
}


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "engram_py":
                names = [f"engram_py.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("engram_py.")}
    return rooms


FILES = sorted(PACKAGE.rglob("*.py"))
IDEAS = [path for path in FILES if path.name != "errors.py"]  # which is one list


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_arrow(path: Path) -> None:
    room = room_of(path)
    wrong = imported_rooms(path) - MAY_IMPORT[room] - {room}
    assert not wrong, f"{path.name} in {room} must not import {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", IDEAS, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 350, "past 300 lines, look for the second idea"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno
            assert lines <= 60, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_prints_or_starts_a_shell(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id == "print"), "stdout belongs to the protocol"
            shell = [word for word in node.keywords if word.arg == "shell"]
            assert not shell, "subprocess never gets a shell"
