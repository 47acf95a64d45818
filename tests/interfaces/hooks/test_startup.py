"""A hook loads what it needs and no more: somebody waits for it. Counted in modules, not in seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from tests.memory import draft

NEVER = ("click", "rich", "pydantic", "mcp", "git", "sqlite_utils", "numpy", "asyncio", "subprocess", "argparse")
CONTEXT = ("engram_py.recall.search", "engram_py.context.contexts", "engram_py.observations.observations")


def loaded(folder: Path, event: str, **fields: Any) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "engram_py", "hook", event, "--agent=claude-code"],
        input=json.dumps({"session_id": "s1", "cwd": str(folder), **fields}).encode(),
        capture_output=True,
        cwd=folder,
        env=os.environ,
        check=True,
    )
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines[1:]}


@pytest.fixture(autouse=True)
def there(memory: Engram) -> None:
    """The file is made and migrated by somebody else."""


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("session-start", {}),
        ("user-prompt", {"prompt": "why did we choose uv?"}),
        ("user-prompt", {"prompt": "Write a parser"}),
        ("stop", {"last_assistant_message": "Done."}),
        ("session-end", {}),
    ],
)
def test_no_hook_loads_what_a_person_or_a_server_needs(folder: Path, event: str, fields: dict[str, str]) -> None:
    modules = loaded(folder, event, **fields)

    assert "engram_py.interfaces.hooks.entry" in modules
    assert not modules & set(NEVER)


def test_a_prompt_that_asks_for_nothing_assembles_nothing(folder: Path) -> None:
    assert not loaded(folder, "user-prompt", prompt="Write a parser for JSON") & set(CONTEXT)


def test_what_only_keeps_the_agent_going_opens_no_database(folder: Path) -> None:
    assert not loaded(folder, "user-prompt", prompt="yes") & {"sqlite3", "engram_py.app"}


def test_the_end_of_a_turn_without_learnings_loads_nothing_that_saves(folder: Path) -> None:
    assert not loaded(folder, "stop", last_assistant_message="Done.") & set(CONTEXT)


def test_a_hook_loads_no_model_whatever_embedder_is_set(
    folder: Path, memory: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision"))
    monkeypatch.setenv("ENGRAM_EMBEDDER", "model2vec:minishlab/potion-base-8M")

    modules = loaded(folder, "user-prompt", prompt="why did we choose uv?")

    assert "engram_py.context.providers" in modules
    assert not modules & {"numpy", "model2vec", "engram_py.vectors.model", "engram_py.vectors.index"}
