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
    ("event", "fields", "nor"),
    [
        pytest.param("session-start", {}, (), id="session-start"),
        pytest.param("user-prompt", {"prompt": "why did we choose uv?"}, (), id="question"),
        pytest.param("user-prompt", {"prompt": "Write a parser for JSON"}, CONTEXT, id="asks-for-nothing"),
        pytest.param("user-prompt", {"prompt": "yes"}, ("sqlite3", "engram_py.app"), id="keeps-going"),
        pytest.param("stop", {"last_assistant_message": "Done."}, CONTEXT, id="without-learnings"),
        pytest.param("session-end", {}, (), id="session-end"),
    ],
)
def test_no_hook_loads_what_a_person_or_a_server_needs_nor_more_than_its_event_does(
    folder: Path, event: str, fields: dict[str, str], nor: tuple[str, ...]
) -> None:
    modules = loaded(folder, event, **fields)

    assert "engram_py.interfaces.hooks.entry" in modules
    assert not modules & {*NEVER, *nor}


def test_a_hook_loads_no_model_whatever_embedder_is_set(
    folder: Path, memory: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision"))
    monkeypatch.setenv("ENGRAM_EMBEDDER", "model2vec:minishlab/potion-base-8M")

    modules = loaded(folder, "user-prompt", prompt="why did we choose uv?")

    assert "engram_py.context.providers" in modules
    assert not modules & {"numpy", "model2vec", "engram_py.vectors.model", "engram_py.vectors.index"}
