"""`engram config`: the settings of this machine listed, shown and set."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from engram_py.settings import SETTINGS
from tests.interfaces.cli.conftest import Run, answer, refusal


@pytest.fixture
def kept(data_dir: Path) -> Any:
    """What config.json holds now."""
    return lambda: json.loads((data_dir / "config.json").read_text(encoding="utf-8"))


def test_every_setting_is_listed_with_its_value_and_where_it_comes_from(
    run: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_text('{"documents": false, "gate": "off"}', encoding="utf-8")
    monkeypatch.setenv("ENGRAM_GATE", "heuristic")
    listed = {one["name"]: one for one in answer(run("config", "--json"))}
    assert set(listed) == {one.name for one in SETTINGS if one.place != "project"}
    assert (listed["documents"]["value"], listed["documents"]["source"]) == (False, "config.json")
    assert (listed["gate"]["value"], listed["gate"]["source"]) == ("heuristic", "ENGRAM_GATE")
    assert (listed["port"]["value"], listed["port"]["source"]) == (7437, "default")
    assert listed["data_dir"]["value"] == str(data_dir)
    lines = [line.split() for line in run("config").stdout.splitlines()]
    assert ["documents", "off", "config.json"] in lines
    assert ["distill_url", "-", "default"] in lines


def test_a_secret_is_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "swordfish")
    for words in (["list"], ["list", "--json"], ["get", "http_token"], ["get", "ENGRAM_HTTP_TOKEN", "--json"]):
        said = run("config", *words)
        assert "set, not shown" in said.stdout
        assert "swordfish" not in said.output


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("documents", "off", False),
        ("ENGRAM_HOOK_PRETOOL", "ON", True),
        ("consolidate_hours", "12", 12),
        ("salience_floor", "0.3", 0.3),
        ("gate", "Off", "off"),
        ("timezone", "Europe/Berlin", "Europe/Berlin"),
        ("distill_model", " small ", "small"),
    ],
)
def test_a_setting_that_is_set_holds_from_then_on(run: Run, kept: Any, name: str, value: str, held: object) -> None:
    assert answer(run("config", "set", name, value, "--json"))["value"] == held
    assert list(kept().values()) == [held]
    assert answer(run("config", "get", name, "--json"))["source"] == "config.json"
    assert answer(run("config", "set", name, "--unset", "--json"))["source"] == "default"
    assert kept() == {}


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_a_data_directory_that_this_makes_is_its_owners_alone(run: Run, data_dir: Path) -> None:
    run("config", "set", "documents", "off")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (data_dir, data_dir / "config.json")] == [0o700, 0o600]


def test_setting_one_keeps_what_else_the_file_says(run: Run, data_dir: Path, kept: Any) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_text('{"mine": {"a": [1]}, "gate": "off"}', encoding="utf-8")
    said = run("config", "set", "documents", "off")
    assert said.stdout == "documents: off (config.json)\n"
    assert "mine was ignored" in said.stderr
    assert kept() == {"mine": {"a": [1]}, "gate": "off", "documents": False}


def test_a_number_outside_of_its_range_is_moved_into_it_with_a_note(run: Run, kept: Any) -> None:
    said = run("config", "set", "memory_budget_tokens", "9000")
    assert (said.exit_code, kept()) == (0, {"memory_budget_tokens": 4_000})
    assert "memory_budget_tokens '9000' was taken as 4,000: it is a whole number from 100 to 4,000" in said.stderr


def test_a_variable_that_wins_is_named(run: Run, kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_GATE", "heuristic")
    said = run("config", "set", "gate", "off")
    assert said.stdout == "gate: heuristic (ENGRAM_GATE)\n"
    assert "ENGRAM_GATE is set and wins" in said.stderr
    assert kept() == {"gate": "off"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["set", "documents", "perhaps"], "documents must be on or off"),
        (["set", "gate", "loud"], "gate must be one of heuristic, off, llm"),
        (["set", "timezone", "Mars/Base"], "timezone must be an IANA name such as Europe/Berlin"),
        (["set", "port", "80"], "ENGRAM_PORT alone sets this one"),
        (["set", "http_token", "swordfish"], "ENGRAM_HTTP_TOKEN alone sets this one"),
        (["set", "default_scope", "personal"], "one that `engram config list` names"),
        (["get", "gates"], "one that `engram config list` names, such as gate"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(run: Run, data_dir: Path, words: list[str], hint: str) -> None:
    said = refusal(run("config", *words))
    assert hint in said
    assert "swordfish" not in said
    assert not (data_dir / "config.json").exists()


@pytest.mark.parametrize("more", [[], ["on", "--unset"]])
def test_a_value_or_unset_is_given_and_not_both(run: Run, more: list[str]) -> None:
    assert "give a VALUE, or --unset" in refusal(run("config", "set", "documents", *more), code=2)


def test_a_file_that_cannot_be_read_is_left_alone(run: Run, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_text("{", encoding="utf-8")
    assert "a JSON object that can be written" in refusal(run("config", "set", "documents", "off"))
    assert (data_dir / "config.json").read_text(encoding="utf-8") == "{"
