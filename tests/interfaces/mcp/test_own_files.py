"""A server whose package is upgraded or removed while it runs."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import engram_py
from engram_py import Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.mcp.own_files import OwnFiles
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.mcp.tool_calls import Memory, run_tool
from engram_py.recall.search import Search


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package of version 1 with a module and a package in it that nobody has imported yet."""
    folder = tmp_path / "site" / "ferry_of_test"
    (folder / "harbour").mkdir(parents=True)
    (folder / "__init__.py").write_text("VERSION = 1\n")
    (folder / "tides.py").write_text("VERSION = 1\n")
    (folder / "harbour" / "__init__.py").write_text("from ferry_of_test.harbour.pier import VERSION as VERSION\n")
    (folder / "harbour" / "pier.py").write_text("VERSION = 1\nHERE = __file__\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    before = list(sys.meta_path)
    yield importlib.import_module("ferry_of_test")
    sys.meta_path[:] = before
    for name in [one for one in sys.modules if one.startswith("ferry_of_test")]:
        del sys.modules[name]


def folder_of(package: ModuleType) -> Path:
    return Path(str(package.__file__)).parent


def test_what_vanished_is_imported_as_it_was(package: ModuleType) -> None:
    files = OwnFiles(package)
    files.keep()
    assert not files.have_changed()

    shutil.rmtree(folder_of(package))

    assert files.have_changed()
    assert importlib.import_module("ferry_of_test.harbour").VERSION == 1
    pier = importlib.import_module("ferry_of_test.harbour.pier")
    assert str(folder_of(package) / "harbour" / "pier.py") == pier.HERE


def test_what_is_of_another_version_is_imported_as_it_was_and_the_rest_from_the_disk(package: ModuleType) -> None:
    files = OwnFiles(package)
    files.keep()
    (folder_of(package) / "tides.py").write_text("VERSION = 2  # and longer\n")

    assert importlib.import_module("ferry_of_test.tides").VERSION == 1
    assert not isinstance(importlib.import_module("ferry_of_test.harbour").__loader__, OwnFiles)
    assert not files.have_changed()


@pytest.fixture
def outdated(data_dir: Path, here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A memory whose program was replaced after it was opened."""
    before = list(sys.meta_path)
    with Engram(settings=Settings(data_dir), directory=here) as app:
        memory = Memory(lambda _: app)
        memory.keep_files()
        monkeypatch.setattr(OwnFiles, "have_changed", lambda _: True)
        yield memory
    sys.meta_path[:] = before


def told(memory: Memory, tool: str, **arguments: object) -> str:
    answer = run_tool(declared()[tool], arguments, memory, "agent")
    assert isinstance(answer, dict)
    return str(answer["content"][0]["text"])


def test_the_first_answer_after_an_upgrade_says_to_restart_the_agent(outdated: Memory) -> None:
    said = told(outdated, "mem_save", title="Tide tables", content="They come each January.")

    assert said.startswith("Saved [#1]")
    assert "restart your agent" in said
    assert "restart" not in told(outdated, "mem_search", query="tide tables")


def test_a_call_that_fails_after_an_upgrade_says_to_restart_the_agent(
    outdated: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'sqlite_utils'")

    monkeypatch.setattr(Search, "search", missing)

    said = told(outdated, "mem_search", query="tide")
    assert said.startswith("outdated_server: mem_search failed: engram was updated or removed while this server runs\n")
    assert "hint: restart your agent" in said


def test_every_module_of_this_package_is_kept() -> None:
    files = OwnFiles()
    kept = dict(files._modules())

    loaded = {name for name, module in sys.modules.items() if name.partition(".")[0] == engram_py.__name__ and module}
    assert loaded <= kept.keys()
