"""The command ``engram serve`` around the server: its settings, its unit files, and what others do not pay for it."""

from __future__ import annotations

import plistlib
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http.server import launchd_unit, systemd_unit
from engram_py.settings import DEFAULTS, load_settings

AWKWARD = ["/opt/my python/bin/python", "-m", "engram_py", "serve", "50%", 'a"b', "c\\d", "$HOME", "line\nbreak"]


def printed(*words: str) -> str:
    result = CliRunner().invoke(cli, ["serve", *words], prog_name="engram")
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_systemd_unit_starts_this_program_with_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "swordfish")
    unit = printed("8080", "--project", "widgets", "--unit", "systemd")
    [line] = [line for line in unit.splitlines() if line.startswith("ExecStart=")]

    command = shlex.split(line.removeprefix("ExecStart="))
    assert command == [sys.executable, "-m", "engram_py", "serve", "8080", "--project", "widgets"]
    assert any(line.startswith('Environment="ENGRAM_DATA_DIR=') for line in unit.splitlines())
    assert "swordfish" not in unit


def test_a_launchd_unit_starts_this_program_with_what_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "swordfish")
    unit = printed("--socket", "/run/engram.sock", "--unit", "launchd")
    values = plistlib.loads(unit.encode())

    assert values["ProgramArguments"] == [sys.executable, "-m", "engram_py", "serve", "--socket", "/run/engram.sock"]
    assert "ENGRAM_DATA_DIR" in values["EnvironmentVariables"]
    assert "swordfish" not in unit


def test_awkward_words_come_through_a_unit_as_they_are() -> None:
    assert plistlib.loads(launchd_unit(AWKWARD, {"A": "<&>"}).encode())["ProgramArguments"] == AWKWARD

    unit = systemd_unit(AWKWARD, {"ENGRAM_DATA_DIR": "/a $b/50%"})
    lines = unit.splitlines()
    assert r'"50%%" "a\"b" "c\\d" "$$HOME" "line\nbreak"' in next(one for one in lines if one.startswith("ExecStart="))
    assert 'Environment="ENGRAM_DATA_DIR=/a $b/50%%"' in lines


@pytest.mark.parametrize("given", ["0", "-1", "65536", "http", "7437x", "٧٤٣٧", "999999999999"])
def test_a_port_that_is_none_is_ignored_and_said_so(data_dir: Path, given: str) -> None:
    settings = load_settings({"ENGRAM_PORT": given}, data_dir=data_dir)
    assert settings.port == DEFAULTS["port"]
    assert any("ENGRAM_PORT" in warning for warning in settings.warnings)
    assert load_settings({"ENGRAM_PORT": " 8080 "}, data_dir=data_dir).port == 8080


def test_the_token_is_not_shown_by_the_settings(data_dir: Path) -> None:
    assert "swordfish" not in repr(load_settings({"ENGRAM_HTTP_TOKEN": "swordfish"}, data_dir=data_dir))


def test_the_port_may_be_an_option_and_excludes_another_and_a_socket() -> None:
    for words, said in ((["8080", "--socket", "x"], "exclude each other"), (["8080", "--port", "8081"], "two ports")):
        result = CliRunner().invoke(cli, ["serve", *words], prog_name="engram")
        assert (result.exit_code, said in result.output) == (2, True)
    assert printed("--port", "8080", "--unit", "systemd") == printed("8080", "--unit", "systemd")


def test_no_other_command_pays_for_the_server(folder: Path) -> None:
    code = """
import sys
from engram_py.settings import Settings
from engram_py.interfaces.cli import observations
from engram_py.interfaces.mcp.server import build_server
from pathlib import Path
build_server(Settings(Path("/nowhere")))
heavy = ("engram_py.interfaces.http", "engram_py.observations.browse")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
