"""A command pays only for what it uses. Counted in modules: seconds depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("mcp", "pydantic", "git", "sqlite_utils", "rich", "anyio", "asyncio", "zoneinfo", "tempfile", "difflib")

_PROBE = """
import json, sys
from engram_py.interfaces.cli.main import run
sys.argv = ["engram", *sys.argv[1:]]
try:
    run()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def modules(here: Path, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, *words], capture_output=True, text=True, cwd=here, timeout=60, check=True
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["search", "tokens"], id="search"),
        pytest.param(["save", "A title", "A text"], id="save"),
        pytest.param(["context"], id="context"),
        pytest.param(["get", "1"], id="get"),
        pytest.param(["export", "-"], id="export"),
        pytest.param(["doctor"], id="doctor"),
        pytest.param(["projects", "--json"], id="projects-json"),
    ],
)
def test_a_command_imports_none_of_the_heavy_packages(here: Path, words: list[str]) -> None:
    modules(here, "save", "Chose tokens", "They live 15 minutes.")  # the file is made and migrated here
    assert not modules(here, *words) & set(HEAVY)


@pytest.mark.parametrize("words", [["version"], ["--help"], ["--version"], ["serach"]])
def test_a_command_that_needs_no_memory_opens_none(here: Path, words: list[str]) -> None:
    loaded = modules(here, *words)
    assert not loaded & {"sqlite3", "engram_py.app", "engram_py.database.store", "mcp", "pydantic", "rich"}


def test_sqlite_utils_is_imported_when_there_is_something_to_migrate(here: Path) -> None:
    assert "sqlite_utils" in modules(here, "stats")
