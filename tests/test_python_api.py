"""The memory from a program: what README shows runs as it stands there."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import engram_py
from engram_py import Draft, Engram, EngramError

ROOT = Path(__file__).parents[1]
EXAMPLE = re.compile(r"<!-- python-example -->\s*```python\n(.*?)```", re.DOTALL)


def test_the_example_of_the_readme_runs(folder: Path) -> None:
    example = EXAMPLE.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert example is not None
    command = [sys.executable, "-W", "error", "-c", example[1]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_what_one_program_saves_another_finds(folder: Path, data_dir: Path) -> None:
    with Engram(data_dir, directory=folder) as memory:
        saved = memory.save(Draft("Chose RS256 for tokens", "Partners verify them without our secret."))
        assert saved.outcome == "added"
    with Engram(data_dir, directory=folder) as memory:
        [hit] = memory.search("how do partners verify tokens?").results
        assert memory.get(hit.id).observation.content == "Partners verify them without our secret."


def test_a_folder_given_as_text_is_as_good_as_a_path(folder: Path, data_dir: Path) -> None:
    with Engram(str(data_dir), directory=str(folder)) as memory:
        assert memory.save(Draft("One", "Two.")).project == "widgets"


def test_the_environment_says_where_the_memory_is(
    folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ENGRAM_PROJECT", "by-variable")
    with Engram() as memory:
        assert memory.save(Draft("One", "Two.")).project == "by-variable"
    with Engram(project="by-argument") as memory:
        assert memory.save(Draft("One", "Two.")).project == "by-argument"
    assert (data_dir / "engram.db").is_file()


def test_every_refusal_is_one_family_with_a_code_and_a_next_step(folder: Path, data_dir: Path) -> None:
    with Engram(data_dir, directory=folder) as memory, pytest.raises(EngramError) as refusal:
        memory.save(Draft("", "Two."))
    assert refusal.value.details()["error_code"] == "empty_field"
    assert refusal.value.hint


def test_a_memory_is_closed_once_however_often_it_is_asked(folder: Path, data_dir: Path) -> None:
    memory = Engram(data_dir, directory=folder)
    memory.close()
    memory.close()
    with pytest.raises(sqlite3.ProgrammingError):
        memory.search("anything")


def test_the_package_offers_what_it_names_and_nothing_else() -> None:
    assert {name for name in engram_py.__all__ if getattr(engram_py, name)} == set(engram_py.__all__)
    with pytest.raises(AttributeError, match="Engramm"):
        _ = engram_py.Engramm


def test_importing_the_package_loads_nothing_it_does_not_need() -> None:
    heavy = "{'mcp', 'sqlite_utils', 'pydantic', 'git', 'rich'}"
    script = f"import engram_py, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
