"""Settings of this machine: what each kind takes, where each comes from, and what is said about a bad one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from platformdirs import user_data_path

from engram_py.base.database.errors import DataDirError
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.reasons import reason
from engram_py.base.settings import BY_NAME, SETTINGS, Setting, Settings, keep_setting, load_settings, setting_values
from engram_py.interfaces.cli.main import cli
from tests.support import facts, names, words

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
    assert (over.project, over.tools, over.log_level, over.documents) == ("from-env", "all", "debug", False)
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


@pytest.mark.skipif(sys.platform == "win32", reason="an account without an entry is of POSIX")
@pytest.mark.parametrize(
    ("words", "step"),
    [
        pytest.param(("save", "A title", "A content."), "set ENGRAM_DATA_DIR", id="the-memory"),
        pytest.param(("setup", "--all-detected"), "set HOME", id="the-files-of-agents"),
        pytest.param(("import", "--from", "claude-memory"), "set HOME", id="the-memory-of-another-program"),
    ],
)
def test_an_account_without_an_entry_is_told_what_to_set(
    monkeypatch: pytest.MonkeyPatch, data_dir: Path, words: tuple[str, ...], step: str
) -> None:
    import pwd

    def none_of_this_id(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", none_of_this_id)
    for name in ("HOME", "XDG_DATA_HOME", *(["ENGRAM_DATA_DIR"] if words[0] == "save" else [])):
        monkeypatch.delenv(name, raising=False)

    done = CliRunner().invoke(cli, words)

    assert done.exit_code == 1
    assert step in done.stderr


@pytest.mark.parametrize("path", ["memory", "./memory", "~nobody_of_this_name/memory"])
def test_a_data_directory_that_is_no_absolute_path_is_refused(path: str) -> None:
    with pytest.raises(DataDirError) as refusal:
        load_settings({"ENGRAM_DATA_DIR": path})
    assert refusal.value.path == path


@pytest.mark.parametrize("config", [
    pytest.param("{", id="cut"), pytest.param("[]", id="list"), pytest.param("[" * 200_000, id="deep"),
    pytest.param("\ufeffnull", id="null"),
])  # fmt: skip
def test_a_file_that_cannot_be_read_is_ignored_with_a_warning(load: Load, data_dir: Path, config: str) -> None:
    settings = load(config, ENGRAM_TOOLS="all")
    assert settings.tools == "all"
    [warning] = settings.warnings
    assert names([warning]) == ["file_ignored"]
    assert facts(warning)["file"] == str(data_dir / "config.json")


def test_a_file_that_is_not_text_is_ignored_with_a_warning(load: Load, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_bytes(b"\xff\xfe\x00{")
    assert len(load().warnings) == 1


@pytest.mark.parametrize(
    ("config", "named"),
    [
        pytest.param({"tool": "all"}, "tool", id="unknown-key"),
        pytest.param({"data_dir": "/elsewhere"}, "data_dir was ignored: only ENGRAM_DATA_DIR", id="not-for-the-file"),
        pytest.param({"search_limit": 5}, "search_limit", id="of-a-repository"),
        pytest.param({"tools": 3}, "tools 3 was ignored: it must be text", id="number-for-text"),
        pytest.param({"tools": None}, "tools null was ignored: it must be text", id="null"),
        pytest.param({"log_level": "loud"}, "log_level 'loud' was ignored: it must be one of debug", id="no-choice"),
        pytest.param(
            {"documents": "sometimes"}, "documents 'sometimes' was ignored: it must be on or off", id="no-switch"
        ),
        pytest.param({"documents": 2}, "documents 2 was ignored: it must be on or off", id="number-for-switch"),
        pytest.param({"consolidate_hours": True}, "true was ignored: it must be a whole number", id="switch"),
        pytest.param({"consolidate_hours": 2.5}, "2.5 was ignored: it must be a whole number from 1", id="fraction"),
        pytest.param(
            {"turn_retention_days": -1}, "-1 was ignored: it must be a whole number from 0", id="below-nothing"
        ),
        pytest.param({"salience_floor": "NaN"}, "'NaN' was ignored: it must be a number from 0 to 1", id="no-number"),
        pytest.param({"gate": ["off"]}, "it must be one of heuristic, off, llm", id="list"),
        pytest.param({"timezone": "Mars/Base"}, "timezone", id="unknown-zone"),
        pytest.param({"timezone": "../../etc/passwd"}, "timezone", id="zone-that-is-a-path"),
    ],
)
def test_a_bad_value_is_named_and_the_default_holds(
    load: Load, data_dir: Path, config: dict[str, object], named: str
) -> None:
    settings = load(config)
    [warning] = settings.warnings
    assert named in words(warning)
    assert {field.name: getattr(settings, field.name) for field in fields(Settings) if field.name != "warnings"} == {
        field.name: getattr(Settings(data_dir), field.name) for field in fields(Settings) if field.name != "warnings"
    }


def test_a_fixed_time_stands_for_the_clock(load: Load) -> None:
    assert load(ENGRAM_NOW="2026-01-02T03:04:05Z").clock().isoformat() == "2026-01-02T03:04:05+00:00"
    with pytest.raises(InvalidArgumentError) as refusal:
        load(ENGRAM_NOW="tomorrow")
    assert refusal.value.argument == "ENGRAM_NOW"


def test_every_setting_is_documented_and_has_its_own_variable() -> None:
    assert all(setting.help.endswith(".") for setting in SETTINGS)
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    own = {one.name for one in SETTINGS if one.place in ("machine", "variable")} - {"now"}
    # Of other settings, of other programs, and of all of them.
    made = {"distill_key", "embedder_key", "agent_folders", "clock", "sources", "warnings"}
    assert own == {field.name for field in fields(Settings)} - made


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one.default not in ("", ())], ids=lambda one: one.name)
def test_every_default_is_a_value_that_the_setting_takes_itself(setting: Setting) -> None:
    assert setting.take(setting.default, setting.name) == (setting.default, None)


@pytest.mark.parametrize(
    ("config", "name", "value"),
    [
        ({"enabled": False}, "enabled", False),
        ({"hook_pretool": True}, "hook_pretool", True),
        ({"documents": 0}, "documents", False),
        ({"documents": "Off"}, "documents", False),
        ({"gate": False}, "gate", "off"),
        ({"consolidate_hours": 12}, "consolidate_hours", 12),
        ({"consolidate_hours": " 12 "}, "consolidate_hours", 12),
        ({"salience_floor": 0.35}, "salience_floor", 0.35),
        ({"salience_floor": "0.35"}, "salience_floor", 0.35),
    ],
    ids=str,
)
def test_json_values_are_taken_as_what_they_are(
    load: Load, config: dict[str, object], name: str, value: object
) -> None:
    settings = load(config)
    assert (getattr(settings, name), settings.warnings) == (value, ())
    assert type(getattr(settings, name)) is type(value)


@pytest.mark.parametrize(("name", "given", "held"), [
    ("memory_budget_tokens", 50, 100), ("memory_budget_tokens", "9000", 4_000), ("full_budget_tokens", 10**30, 16_384),
    ("salience_floor", 1.5, 1), ("episode_retention_days", "9" * 30, 3_650), ("recency_half_life_days", 0, 1),
])  # fmt: skip
def test_a_number_outside_of_its_range_is_the_nearest_end_and_said(
    load: Load, name: str, given: object, held: float
) -> None:
    settings = load({name: given})
    [warning] = settings.warnings
    assert getattr(settings, name) == held
    assert words(warning).startswith(f"config.json: {name} ")
    assert facts(warning).items() >= {"value": held, "accepted": BY_NAME[name].accepted}.items()


def test_a_variable_that_is_ignored_leaves_the_word_to_the_file(load: Load) -> None:
    settings = load({"record": False}, ENGRAM_RECORD="perhaps")
    assert (settings.record, settings.sources) == (False, {"record": "config.json"})
    assert settings.warnings == (reason("setting_ignored", setting="ENGRAM_RECORD 'perhaps'", accepted="on or off"),)


def test_only_what_a_variable_says_of_a_switch_counts_as_forced(load: Load) -> None:
    settings = load({"record": False, "inject": False}, ENGRAM_INJECT="on")
    assert (settings.by_variable("record"), settings.by_variable("inject")) == (None, True)
    assert settings.by_variable("enabled") is None


def test_the_key_of_an_endpoint_is_in_the_variable_that_a_setting_names(load: Load) -> None:
    settings = load({"distill_key_variable": "MINE"}, MINE="swordfish")
    assert (settings.distill_key, settings.embedder_key) == ("swordfish", "")
    assert "swordfish" not in repr(settings)


def test_blanks_belong_to_a_passphrase_and_to_no_other_secret(load: Load) -> None:
    settings = load(ENGRAM_SYNC_PASSPHRASE=" open sesame ", ENGRAM_HTTP_TOKEN=" token ")
    assert (settings.sync_passphrase, settings.http_token) == (" open sesame ", "token")


def test_the_values_that_are_shown_hide_secrets_and_credentials(data_dir: Path) -> None:
    variables = {
        "ENGRAM_HTTP_TOKEN": "swordfish",
        "ENGRAM_DATABASE_URL": "postgresql://engram:swordfish@db/engram",
        "ENGRAM_CLOUD_SERVER": "https://ada:swordfish@team.example",
        "ENGRAM_SYNC_PASSPHRASE": "swordfish",
    }
    found = setting_values(data_dir, variables)
    assert "swordfish" not in repr([(one.value, one.shown) for one in found])
    assert {one.setting.variable for one in found if one.source != "default"} == set(variables)


def test_a_setting_that_is_kept_leaves_the_rest_of_the_file_as_it_is(load: Load, data_dir: Path) -> None:
    load({"mine": [1, {"a": None}], "gate": "off"})
    keep_setting(data_dir, "documents", False)
    keep_setting(data_dir, "gate", None)
    kept = json.loads((data_dir / "config.json").read_text(encoding="utf-8"))
    assert kept == {"mine": [1, {"a": None}], "documents": False}
    assert [path.name for path in data_dir.iterdir()] == ["config.json"]


@pytest.mark.parametrize(("said", "on"), [("1", True), ("on", True), ("0", False), ("OFF", False), ("perhaps", True)])
def test_sync_with_a_server_is_switched_with_the_values_that_engram_takes_too(load: Load, said: str, on: bool) -> None:
    settings = load(ENGRAM_CLOUD_AUTOSYNC=said, ENGRAM_CLOUD_SERVER=" https://x ", ENGRAM_CLOUD_TOKEN="engram_secret")
    assert (settings.cloud_autosync, settings.cloud_server) == (on, "https://x")
    assert settings.cloud_token == "engram_secret"
    assert "engram_secret" not in repr(settings)
    assert len(settings.warnings) == (said == "perhaps")
