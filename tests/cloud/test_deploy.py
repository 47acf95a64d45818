"""What `deploy/` says is there: every variable it sets, every command it types."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engram_py.interfaces.cli.sync import CLOUD_COMMANDS
from engram_py.settings import SETTINGS

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_and_command_that_is_named_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert set(re.findall(r"\bENGRAM_[A-Z_]+", text)) <= {setting.variable for setting in SETTINGS}
    named = re.findall(r"engram cloud ([a-z]+)", text)
    assert set(named) <= set(CLOUD_COMMANDS)


def test_the_files_of_a_deployment_are_all_there() -> None:
    assert {path.name for path in FILES} >= {"Dockerfile", "compose.yaml", "engram-cloud.service", "README.md"}
