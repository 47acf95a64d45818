"""``engram config``: list, show and set the settings of this machine, by the table in ``settings.py``."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.cli.commands import group, print_notes, prints_value, settings
from engram_py.settings import BY_NAME, Setting, SettingValue, keep_setting, setting_values

_name = click.argument("name", help="Such as gate, or ENGRAM_GATE.")

config_command = group(
    "config",
    "List the settings of this machine, show one, or set one; alone it lists them.",
    alone="list",
)


@config_command.command("list")
@prints_value
def list_command() -> tuple[object, str]:
    """List every setting with its value and where that comes from. Secrets are hidden."""
    found = setting_values(settings().data_dir)
    lines = [("setting", "value", "from"), *((one.setting.name, one.shown or "-", one.source) for one in found)]
    wide = [max(len(line[place]) for line in lines) for place in (0, 1)]
    text = "\n".join(f"{name:{wide[0]}}  {value:{min(wide[1], 40)}}  {source}" for name, value, source in lines)
    return [_facts(one) for one in found], text


@config_command.command("get")
@_name
@prints_value
def get_command(name: str) -> tuple[object, str]:
    """Print the value of a setting; a secret is hidden."""
    found = _value(settings().data_dir, _setting(name))
    return _facts(found), found.shown


@config_command.command("set")
@_name
@click.argument("value", required=False, help="On, off, a number, a text.")
@click.option("--unset", is_flag=True, help="Take it out of config.json.")
@prints_value
def set_command(name: str, value: str | None, unset: bool) -> tuple[object, str]:
    """Write a setting into config.json. Servers and agents that run read it when they start.

    A number outside of its range is moved to the nearest end, with a note.
    """
    if unset == (value is not None):
        raise click.UsageError("give a VALUE, or --unset")
    setting, folder = _setting(name), settings().data_dir
    kept, notes = _checked(setting, value)
    keep_setting(folder, setting.name, kept)
    found = _value(folder, setting)
    if found.source == setting.variable:
        notes.append(f"{setting.variable} is set and wins; unset it where agents are started")
    print_notes(notes)
    return _facts(found), f"{setting.name}: {found.shown or '-'} ({found.source})"


def _setting(name: str) -> Setting:
    """Return the setting of a name, a key or a variable. Raises InvalidArgumentError."""
    wanted = name.strip().lower().removeprefix("engram_")
    if wanted in BY_NAME and BY_NAME[wanted].place != "project":
        return BY_NAME[wanted]
    near = get_close_matches(wanted, BY_NAME, n=1)
    hint = f", such as {near[0]}" if near and BY_NAME[near[0]].place != "project" else ""
    raise InvalidArgumentError("setting", name, expected=f"one that `engram config list` names{hint}")


def _checked(setting: Setting, value: str | None) -> tuple[Any, list[str]]:
    """Return what to write into the file, and how it was moved into its range. Raises InvalidArgumentError."""
    if not setting.key:
        expected = f"a key of config.json; {setting.variable} alone sets this one"
        raise InvalidArgumentError("setting", setting.name, expected=expected)
    if value is None:
        return None, []
    held, said = setting.take(value, setting.name)
    if held is None:
        raise InvalidArgumentError(setting.name, value, expected=setting.accepted)
    return held, [said] if said else []


def _value(folder: Path, setting: Setting) -> SettingValue:
    return next(one for one in setting_values(folder) if one.setting is setting)


def _facts(one: SettingValue) -> dict[str, object]:
    setting = one.setting
    facts = {"name": setting.name, "variable": setting.variable, "value": one.value, "source": one.source}
    return facts | {"default": setting.default, "accepts": setting.accepted, "help": setting.help}
