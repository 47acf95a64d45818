"""Settings of this machine: defaults, then ``config.json`` in the data directory, then ``ENGRAM_*`` variables.

What a project's ``.engram.json`` may say is in ``projects/settings_keys.py``: that file can arrive with a clone,
so it is trusted with names and preferences only, never with a path or an address.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engram_py.config_keys import SETTINGS, Setting
from engram_py.database.errors import DataDirError
from engram_py.dataclass import dataclass, field, replace
from engram_py.distill.settings import DistillSettings, distill_settings
from engram_py.errors import InvalidArgumentError
from engram_py.privacy.values import MOST_TURN_DAYS, SWITCHES, TURN_DAYS, PrivacySettings
from engram_py.recall.settings import HALF_LIFE_DAYS, half_life
from engram_py.sync.autosync.settings import CloudSettings
from engram_py.times import Clock, fixed_clock, parse_time, utc_now

CONFIG_NAME = "config.json"
PROFILES = ("core", "agent", "admin", "all")
GATES = ("heuristic", "off", "llm")
LOG_LEVELS = ("debug", "info", "warning", "error")
SWITCH = ("on", "off")
DEFAULT_PORT = 7437
_MOST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class Settings:
    """What this process runs with. ``warnings`` names what was ignored, and why."""

    data_dir: Path
    project: str | None = None
    tools: str = "core"
    log_level: str = "error"
    gate: str = "heuristic"
    fact_rules: str = ""
    recency_half_life_days: int = HALF_LIFE_DAYS
    hook_pretool: str = "off"
    hook_nudge: str = "on"
    documents: str = "on"
    timezone: str | None = None
    embedder: str = ""
    embedder_key_variable: str = ""
    port: int = DEFAULT_PORT
    socket: str = ""
    http_token: str = field(default="", repr=False)
    http_open: bool = False
    sync_passphrase: str = field(default="", repr=False)
    cloud: CloudSettings = field(default_factory=CloudSettings)
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    consolidate_hours: int = 24
    episode_retention_days: int = 365
    distill: DistillSettings = field(default_factory=DistillSettings)
    clock: Clock = utc_now
    warnings: tuple[str, ...] = ()


def load_settings(environ: Mapping[str, str] | None = None, *, data_dir: Path | None = None) -> Settings:
    """Read the settings once, at the start of a process.

    Raises:
        DataDirError: ``ENGRAM_DATA_DIR`` is not an absolute path.
        InvalidArgumentError: ``ENGRAM_NOW`` is not a time.
    """
    environ = os.environ if environ is None else environ
    folder = data_dir or _data_dir(environ)
    values, warnings = _config_file(folder / CONFIG_NAME)
    for setting in SETTINGS:
        if setting.key and environ.get(setting.variable, "").strip():
            values[setting.key] = environ[setting.variable].strip()
    port, said = _port(environ)
    cloud, unclear = _cloud(values, environ)
    privacy, not_said = _privacy(values, environ)
    distill, not_clear = distill_settings(values)
    opened, not_on = _on(values.pop("http_open", ""), "http_open")
    settings = Settings(
        folder,
        port=port,
        socket=environ.get("ENGRAM_SOCKET", "").strip(),
        http_token=environ.get("ENGRAM_HTTP_TOKEN", "").strip(),
        http_open=opened is True,
        sync_passphrase=environ.get("ENGRAM_SYNC_PASSPHRASE", ""),
        cloud=cloud,
        privacy=privacy,
        distill=distill,
        clock=_clock(environ),
        warnings=(*warnings, *said, *unclear, *not_said, *not_clear, *not_on),
    )
    return replace(settings, **_checked(values, settings))


def _data_dir(environ: Mapping[str, str]) -> Path:
    named = environ.get("ENGRAM_DATA_DIR", "").strip()
    if not named:
        return _usual_data_dir(environ)
    try:
        path = Path(named).expanduser()
    except RuntimeError as exc:
        raise DataDirError(named, "there is no such home directory") from exc
    if not path.is_absolute():
        raise DataDirError(named, "the path is relative")
    return path


def _usual_data_dir(environ: Mapping[str, str]) -> Path:
    """Return the platform's folder for data. On Linux by hand, as platformdirs says: to import that takes 7 ms."""
    home = environ.get("HOME", "")
    if sys.platform == "linux" and Path(home).is_absolute() and "ANDROID_DATA" not in environ:
        named = environ.get("XDG_DATA_HOME", "")
        return (Path(named) if Path(named).is_absolute() else Path(home, ".local", "share")) / "engram"
    from platformdirs import user_data_path

    return user_data_path("engram", appauthor=False)


def _port(environ: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    given = environ.get("ENGRAM_PORT", "").strip()
    if given.isascii() and given.isdecimal() and len(given) <= 5 and 1 <= int(given) <= _MOST_PORT:
        return int(given), ()
    return DEFAULT_PORT, ((f"ENGRAM_PORT {given[:20]!r} was ignored: it is a port number",) if given else ())


def _cloud(values: dict[str, str], environ: Mapping[str, str]) -> tuple[CloudSettings, tuple[str, ...]]:
    """Return what is set about a server, taken out of ``values``."""
    server, switch = values.pop("cloud_server", "").strip(), values.pop("cloud_autosync", "on").strip().lower()
    token = environ.get("ENGRAM_CLOUD_TOKEN", "").strip()
    on, said = _on(switch, "cloud_autosync")
    return CloudSettings(server, token, on is not False), said


def _privacy(values: dict[str, str], environ: Mapping[str, str]) -> tuple[PrivacySettings, tuple[str, ...]]:
    """Return what is set about recording and sharing, taken out of ``values``."""
    warnings: list[str] = []
    given: dict[str, dict[str, bool]] = {"config": {}, "environment": {}}
    for name in (*SWITCHES, "sync_prompts"):
        on, said = _on(values.pop(name, ""), name)
        warnings += said
        if on is not None:
            given["environment" if environ.get(f"ENGRAM_{name.upper()}", "").strip() else "config"][name] = on
    shared = given["environment"].pop("sync_prompts", given["config"].pop("sync_prompts", False))
    days = values.pop("turn_retention_days", "").strip()
    if days and not (days.isascii() and days.isdecimal() and len(days) <= 4 and int(days) <= MOST_TURN_DAYS):
        warnings.append(f"turn_retention_days {days[:20]!r} was ignored: it is a number from 0 to {MOST_TURN_DAYS:,}")
        days = ""
    kept = int(days) if days else TURN_DAYS
    return PrivacySettings(given["config"], given["environment"], kept, shared), tuple(warnings)


def _on(said: str, name: str) -> tuple[bool | None, tuple[str, ...]]:
    """Return whether a switch is on; None, and a warning, where it says neither. Engram's own values are 1 and 0."""
    word = said.strip().lower()
    on = {"on": True, "1": True, "true": True, "off": False, "0": False, "false": False}.get(word)
    return on, ((f"{name} {word[:20]!r} was ignored: it is on or off",) if word and on is None else ())


def _clock(environ: Mapping[str, str]) -> Clock:
    now = environ.get("ENGRAM_NOW", "").strip()
    if not now:
        return utc_now
    if parse_time(now) is None:
        raise InvalidArgumentError("ENGRAM_NOW", now, expected="a time such as 2026-01-02T03:04:05Z")
    return fixed_clock(now)


def keep_setting(folder: Path, key: str, value: str) -> None:
    """Write one setting into ``config.json``, in one step; an empty value takes it out. The rest stays as it is.

    Raises InvalidArgumentError: the file is there and cannot be read or written, so it is left alone.
    """
    from engram_py.files import write_atomically

    path = folder / CONFIG_NAME
    try:
        kept = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
        if not isinstance(kept, dict):
            raise ValueError("it is not a JSON object")
        kept = {name: was for name, was in kept.items() if name != key} | ({key: value} if value else {})
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(kept, ensure_ascii=False, indent=2) + "\n").encode())
    except (OSError, ValueError, RecursionError) as exc:
        raise InvalidArgumentError(str(path), str(exc), expected="a JSON object that can be written") from exc


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting with its present value, empty for none, and the ``source`` it comes from."""

    setting: Setting
    value: str
    source: str


def setting_values(settings: Settings, environ: Mapping[str, str] | None = None) -> tuple[SettingValue, ...]:
    """Every setting as it is now, where it comes from: its variable, ``config.json`` or the default. One that
    ``settings`` had to ignore has its default; secret ones and credentials in addresses are hidden."""
    from engram_py.capture.redact import redact

    environ = os.environ if environ is None else environ
    kept = _config_file(settings.data_dir / CONFIG_NAME)[0]
    found = []
    for one in SETTINGS:
        value, source = environ.get(one.variable, "").strip(), one.variable
        if not value and one.key in kept:
            value, source = kept[one.key].strip(), CONFIG_NAME
        if not value or any(said.startswith((f"{one.key} ", f"{one.variable} ")) for said in settings.warnings):
            value, source = one.default, "default"
        hidden = one.secret and source != "default"
        found.append(SettingValue(one, "set, not shown" if hidden else redact(value).text, source))
    return tuple(found)


def following(folder: Path, key: str) -> Callable[[], str]:
    """Return what tells a setting's present value: another process may change ``config.json`` while this one runs."""
    [variable] = [setting.variable for setting in SETTINGS if setting.key == key]
    path, stamp, value = folder / CONFIG_NAME, None, ""

    def now() -> str:
        nonlocal stamp, value
        if given := os.environ.get(variable, "").strip():
            return given
        try:
            found = path.stat()
            seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        except OSError:
            seen = (0, 0, 0)
        if seen != stamp:
            stamp, value = seen, _config_file(path)[0].get(key, "")
        return value

    return now


def _config_file(path: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the settings of the file, and a sentence for each thing in it that was ignored."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}, ()
    except NotADirectoryError:  # the store says what is wrong with the data directory
        return {}, ()
    except (OSError, ValueError, RecursionError) as exc:
        return {}, (f"{path} was ignored: {exc}",)
    if not isinstance(raw, dict):
        return {}, (f"{path} was ignored: it is not a JSON object",)
    known = {setting.key for setting in SETTINGS if setting.key}
    values = {key: value for key, value in raw.items() if key in known and isinstance(value, str)}
    ignored = [key for key in raw if key not in values]
    return values, tuple(f"{path}: {key} was ignored (unknown, or not text)" for key in ignored)


# A setting that is a number: its key, the default, the least and the most.
_NUMBERS = (
    ("consolidate_hours", 24, 1, 168),
    ("episode_retention_days", 365, 0, 3_650),
)


def _checked(values: dict[str, Any], settings: Settings) -> dict[str, Any]:
    warnings = list(settings.warnings)
    level = values.get("log_level", "error").lower()
    if level not in LOG_LEVELS:
        warnings.append(f"log_level {level!r} was ignored: it is one of {', '.join(LOG_LEVELS)}")
        values["log_level"] = "error"
    else:
        values["log_level"] = level
    for name, default in (("hook_pretool", "off"), ("hook_nudge", "on"), ("documents", "on")):
        said = values.get(name, default).lower()
        if said not in SWITCH:
            warnings.append(f"{name} {said!r} was ignored: it is on or off")
        values[name] = said if said in SWITCH else default
    days, ignored = half_life(values.pop("recency_half_life_days", ""))
    warnings += ignored
    gate = values.get("gate", "heuristic").lower()
    if gate not in GATES:
        warnings.append(f"gate {gate!r} was ignored: it is one of {', '.join(GATES)}")
    values["gate"] = gate if gate in GATES else "heuristic"
    for key, usual, least, most in _NUMBERS:
        given = values.pop(key, "").strip()
        number = int(given) if given.isascii() and given.isdecimal() and len(given) <= 6 else -1
        if given and not least <= number <= most:
            warnings.append(f"{key} {given[:20]!r} was ignored: it is a number from {least} to {most:,}")
        values[key] = number if least <= number <= most else usual
    zone = values.get("timezone")
    if zone and not _is_zone(zone):
        warnings.append(f"timezone {zone!r} was ignored: it is an IANA name such as Europe/Berlin")
        del values["timezone"]
    return {**values, "recency_half_life_days": days, "warnings": tuple(warnings)}


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
