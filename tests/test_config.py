"""Settings of this machine: where each comes from, and what is said about a bad one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from platformdirs import user_data_path

from engram_py.config import Settings, load_settings
from engram_py.config_keys import SETTINGS
from engram_py.database.errors import DataDirError
from engram_py.errors import InvalidArgumentError
from engram_py.privacy.values import PrivacySettings

Load = Callable[..., Settings]


@pytest.fixture
def load(data_dir: Path) -> Load:
    """Loads with a ``config.json`` and these variables, and nothing of this machine."""

    def loaded(config: Any = None, **variables: str) -> Settings:
        data_dir.mkdir(exist_ok=True)
        if config is not None:
            text = config if isinstance(config, str) else json.dumps(config)
            (data_dir / "config.json").write_text(text, encoding="utf-8")
        return load_settings({"ENGRAM_DATA_DIR": str(data_dir), **variables})

    return loaded


def test_without_anything_the_defaults_hold(load: Load, data_dir: Path) -> None:
    assert load() == Settings(data_dir)


def test_the_file_wins_over_the_defaults_and_the_environment_over_the_file(load: Load) -> None:
    config = {"project": "from-file", "tools": "agent", "log_level": "INFO", "timezone": "Europe/Berlin"}
    from_file = load(config)
    assert (from_file.project, from_file.tools) == ("from-file", "agent")
    assert (from_file.log_level, from_file.timezone) == ("info", "Europe/Berlin")

    over = load(
        config, ENGRAM_PROJECT=" from-env ", ENGRAM_TOOLS="all", ENGRAM_LOG_LEVEL="debug", ENGRAM_DOCUMENTS="OFF"
    )
    assert (over.project, over.tools, over.log_level, over.documents) == ("from-env", "all", "debug", "off")
    assert over.timezone == "Europe/Berlin"


def test_a_blank_variable_is_as_good_as_none(load: Load) -> None:
    assert load({"tools": "agent"}, ENGRAM_TOOLS="  ").tools == "agent"


def test_a_data_directory_that_was_passed_wins_over_the_variable(load: Load, tmp_path: Path) -> None:
    assert load_settings({"ENGRAM_DATA_DIR": "relative"}, data_dir=tmp_path).data_dir == tmp_path


def test_without_a_variable_the_data_directory_is_the_platforms() -> None:
    folder = load_settings({}).data_dir
    assert folder.is_absolute()
    assert folder.name == "engram"


@pytest.mark.parametrize("data_home", ["", "  ", "/srv/data", " /srv/data ", "relative", "~/data"])
def test_the_platforms_data_directory_is_the_one_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_home: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", data_home)
    assert load_settings(os.environ | {"ENGRAM_DATA_DIR": ""}).data_dir == user_data_path("engram", appauthor=False)


def test_a_tilde_is_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert load_settings({"ENGRAM_DATA_DIR": "~/memory"}).data_dir == tmp_path / "memory"


@pytest.mark.parametrize("path", ["memory", "./memory", "~nobody_of_this_name/memory"])
def test_a_data_directory_that_is_no_absolute_path_is_refused(path: str) -> None:
    with pytest.raises(DataDirError) as refusal:
        load_settings({"ENGRAM_DATA_DIR": path})
    assert refusal.value.path == path


@pytest.mark.parametrize(
    "config",
    [
        pytest.param("{", id="cut"),
        pytest.param("[]", id="list"),
        pytest.param("[" * 200_000, id="deep"),
        pytest.param("\ufeffnull", id="null"),
    ],
)
def test_a_file_that_cannot_be_read_is_ignored_with_a_warning(load: Load, data_dir: Path, config: str) -> None:
    settings = load(config, ENGRAM_TOOLS="all")
    assert settings.tools == "all"
    [warning] = settings.warnings
    assert str(data_dir / "config.json") in warning


def test_a_file_that_is_not_text_is_ignored_with_a_warning(load: Load, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_bytes(b"\xff\xfe\x00{")
    assert len(load().warnings) == 1


@pytest.mark.parametrize(
    ("config", "named"),
    [
        pytest.param({"tool": "all"}, "tool", id="unknown-key"),
        pytest.param({"tools": 3}, "tools", id="wrong-type"),
        pytest.param({"data_dir": "/elsewhere"}, "data_dir", id="not-for-the-file"),
        pytest.param({"log_level": "loud"}, "log_level", id="unknown-level"),
        pytest.param({"documents": "sometimes"}, "documents", id="neither-on-nor-off"),
        pytest.param({"timezone": "Mars/Base"}, "timezone", id="unknown-zone"),
        pytest.param({"timezone": "../../etc/passwd"}, "timezone", id="zone-that-is-a-path"),
    ],
)
def test_a_bad_value_is_named_and_the_default_holds(
    load: Load, data_dir: Path, config: dict[str, object], named: str
) -> None:
    settings = load(config)
    [warning] = settings.warnings
    assert named in warning
    assert {field.name: getattr(settings, field.name) for field in fields(Settings) if field.name != "warnings"} == {
        field.name: getattr(Settings(data_dir), field.name) for field in fields(Settings) if field.name != "warnings"
    }


def test_a_fixed_time_stands_for_the_clock(load: Load) -> None:
    assert load(ENGRAM_NOW="2026-01-02T03:04:05Z").clock().isoformat() == "2026-01-02T03:04:05+00:00"
    with pytest.raises(InvalidArgumentError) as refusal:
        load(ENGRAM_NOW="tomorrow")
    assert refusal.value.argument == "ENGRAM_NOW"


def test_every_setting_is_documented_and_has_its_own_variable() -> None:
    assert all(setting.help.endswith(".") and setting.variable.startswith("ENGRAM_") for setting in SETTINGS)
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)
    joined = {"cloud_server", "cloud_autosync", "sync_prompts", "enabled", "record", "inject", "turn_retention_days"}
    keys = {setting.key for setting in SETTINGS if setting.key} - joined  # values of their own: cloud, privacy
    keys = {"distill" if key.startswith("distill_") else key for key in keys}
    assert keys == {field.name for field in fields(Settings)} - {
        "data_dir",
        "port",
        "socket",
        "http_token",
        "sync_passphrase",
        "cloud",
        "privacy",
        "clock",
        "warnings",
    }


@pytest.mark.parametrize(("said", "on"), [("1", True), ("on", True), ("0", False), ("OFF", False), ("perhaps", True)])
def test_sync_with_a_server_is_switched_with_the_values_that_engram_takes_too(load: Load, said: str, on: bool) -> None:
    settings = load(ENGRAM_CLOUD_AUTOSYNC=said, ENGRAM_CLOUD_SERVER=" https://x ", ENGRAM_CLOUD_TOKEN="engram_secret")
    assert (settings.cloud.autosync, settings.cloud.server) == (on, "https://x")
    assert settings.cloud.token == "engram_secret"
    assert "engram_secret" not in repr(settings)
    assert len(settings.warnings) == (said == "perhaps")


def test_what_is_recorded_and_shared_is_set_by_the_file_and_the_environment(load: Load) -> None:
    assert load().privacy == PrivacySettings()
    said = load(ENGRAM_RECORD="off", ENGRAM_SYNC_PROMPTS="on", ENGRAM_TURN_RETENTION_DAYS="7").privacy
    assert said == PrivacySettings(environment={"record": False}, turn_days=7, sync_prompts=True)
    assert load(ENGRAM_TURN_RETENTION_DAYS="0").privacy.turn_days == 0


@pytest.mark.parametrize("variable", ["ENGRAM_RECORD", "ENGRAM_SYNC_PROMPTS", "ENGRAM_TURN_RETENTION_DAYS"])
def test_what_is_no_switch_and_no_number_is_ignored_and_said(load: Load, variable: str) -> None:
    settings = load(**{variable: "perhaps"})

    assert settings.privacy == PrivacySettings()
    assert len(settings.warnings) == 1
