"""``engram import --from``: what other programs kept, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py.interchange.importers import KINDS
from engram_py.interfaces.cli.upkeep import SOURCES
from tests.interfaces.cli.conftest import Run, Start, answer

ENTITY = json.dumps({"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]})


def test_the_kinds_of_the_command_are_those_of_the_service() -> None:
    assert tuple(KINDS) == SOURCES


def test_a_source_is_tried_imported_and_found(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(ENTITY + "\n")
    words = ("import", "--from", "server-memory", str(path), "--project", "widgets")

    tried = answer(run(*words, "--dry-run", "--json"))
    assert (tried["observations"]["new"], tried["warnings"]) == (1, ["dry run: nothing was written"])
    assert answer(run("search", "tea", "--json"))["count"] == 0

    assert "observations: 1 read, 1 new" in run(*words).stdout
    assert answer(run("search", "tea", "--json"))["count"] == 1
    assert "observations: 1 read, 0 new" in run(*words).stdout


def test_a_source_is_looked_for_where_its_program_keeps_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    notes = tmp_path / "basic-memory"
    notes.mkdir()
    (notes / "coffee.md").write_text("# Coffee\nPour over gives clarity.\n")

    assert answer(run("import", "--from", "basic-memory", "--json"))["observations"]["new"] == 1
    refused = run("import", "--from", "claude-mem")
    assert (refused.exit_code, "invalid_source" in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    "words",
    [("import",), ("import", "--dry-run", "x.json"), ("import", "x.json", "--project", "widgets"),
     ("import", "--from", "server-memory"), ("import", "--from", "diary", "x")],
    ids=["nothing", "dry-run-of-an-export", "project-of-an-export", "no-path", "no-such-kind"],
)  # fmt: skip
def test_wrong_usage_is_said_so(run: Run, words: tuple[str, ...]) -> None:
    assert run(*words).exit_code == 2


def test_only_the_summary_is_on_standard_output(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_text(ENTITY + "\n")
    done = start("import", "--from", "server-memory", str(path), "--json")
    assert (done.code, json.loads(done.stdout)["observations"]["new"], done.stderr) == (0, 1, "")
