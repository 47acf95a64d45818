"""The table of settings, and the settings of this machine: defaults, then ``config.json``, then ``ENGRAM_*`` variables.

A row of ``SETTINGS`` is all there is to say about a setting: its kind, its default, its range, where it may stand and
its help. The three sources, ``engram config``, the settings page and the reference read it. ``.engram.json`` can arrive
with a clone, so it may set only the rows that have a ``project`` name: names and preferences, never a path, a command
or an address (``memory/projects/settings_file.py``). Every process imports this module, so it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engram_py.base.database.errors import DataDirError
from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.times import Clock, fixed_clock, parse_time, utc_now, zone_named

if TYPE_CHECKING:
    from engram_py.base.reasons import Reason, Told

CONFIG_NAME = "config.json"
HIDDEN = "set, not shown"

Kind = Literal["switch", "whole", "number", "port", "choice", "zone", "text", "list", "secret", "passphrase"]
# machine: config.json or a variable; variable: that alone; server: of the team's server; project: .engram.json alone
Place = Literal["machine", "variable", "server", "project"]

# Where agents keep their files when not below the home directory.
_AGENT_FOLDERS = (
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "APPDATA",
)  # fmt: skip
_SWITCH = {"on": True, "1": True, "true": True, "off": False, "0": False, "false": False}
_SHOWN_CHARS = 20


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is this machine's own. No name but localhost is resolved."""
    if host.lower() == "localhost":
        return True
    import ipaddress  # few processes ask

    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. ``range`` is the least and the most of a number, or the choices; ``project`` its name in
    ``.engram.json``, empty where that file may not set it."""

    name: str
    kind: Kind
    default: Any
    help: str
    range: tuple[Any, ...] = ()
    place: Place = "machine"
    project: str = ""

    @property
    def key(self) -> str:
        """Its name in ``config.json``, empty where it does not belong there."""
        return self.name if self.place == "machine" else ""

    @property
    def variable(self) -> str:
        """The variable that sets it, empty without one."""
        return "" if self.place == "project" else f"ENGRAM_{self.name.upper()}"

    @property
    def is_secret(self) -> bool:
        return self.kind in ("secret", "passphrase")

    @property
    def accepted(self) -> str:
        """Return what it accepts, to complete the sentence "it must be …"."""
        match self.kind:
            case "switch":
                return "on or off"
            case "whole" | "port":
                return f"a whole number from {self.range[0]:,} to {self.range[1]:,}"
            case "number":
                return f"a number from {self.range[0]} to {self.range[1]}"
            case "choice":
                return f"one of {', '.join(self.range)}"
            case "zone":
                return "an IANA name such as Europe/Berlin"
            case "list":
                return f"a list of at most {self.range[0]} texts of {self.range[1]} characters"
        return "text"

    def parse(self, raw: object) -> Any:
        """Return the value of ``raw``, which is text or JSON, whatever its range; None where it is of another kind."""
        match self.kind:
            case "switch":
                value: Any = _SWITCH.get(str(raw).strip().lower())
            case "whole" | "port":
                value = _whole(raw)
            case "number":
                value = _number(raw)
            case "choice":
                word = "off" if raw is False else str(raw).strip().lower()
                value = word if word in self.range else None
            case "list":
                value = _texts(raw, *self.range)
            case "passphrase":
                value = raw if isinstance(raw, str) else None
            case _:
                value = raw.strip() if isinstance(raw, str) else None
        if value is None or (self.kind == "zone" and not _is_zone(value)):
            return None
        return None if self.kind == "port" and value != self.held(value) else value

    def held(self, value: Any) -> Any:
        """Return ``value``, or the end of the range that is nearest to it."""
        if self.kind not in ("whole", "number", "port"):
            return value
        return min(max(value, self.range[0]), self.range[1])

    def take(self, raw: object, name: str, *, trusted: bool = True) -> tuple[Any, Reason | None]:
        """Return the value of ``raw``, None where it is ignored, and a note where it was not taken as it is.

        ``name`` says where it stands. The value of a file that is not ``trusted`` is not repeated.
        """
        value = self.parse(raw)
        held = None if value is None else self.held(value)
        if held is not None and held == value:
            return value, None
        from engram_py.base.reasons import reason  # most are taken as they are, and a hook reads settings each time

        said = f"{name} {_shown(raw)}" if trusted else name
        if held is None:
            return None, reason("setting_ignored", setting=said, accepted=self.accepted)
        return held, reason("setting_moved", setting=said, value=held, accepted=self.accepted)


def _whole(raw: object) -> int | None:
    """Return a whole number without a sign, which is what JSON or a variable holds."""
    if isinstance(raw, str):
        text = raw.strip()
        return int(text[:_SHOWN_CHARS]) if text.isascii() and text.isdecimal() else None
    return raw if type(raw) is int and raw >= 0 else None


def _number(raw: object) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return None
    return value if 0 <= value < float("inf") else None


def _texts(raw: object, most: int, longest: int) -> tuple[str, ...] | None:
    if not isinstance(raw, list) or not all(isinstance(one, str) and len(one) <= longest for one in raw):
        return None
    return tuple(dict.fromkeys(one.strip() for one in raw if one.strip())) if len(raw) <= most else None


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _shown(raw: object) -> str:
    return (repr(raw[:_SHOWN_CHARS]) if isinstance(raw, str) else json.dumps(raw))[: _SHOWN_CHARS * 2]


# Defaults and ranges of what the seeds name too are theirs (spec/seed-capabilities.md 2.11).
SETTINGS = (
    Setting("data_dir", "text", "", "The directory of `engram.db`, an absolute path.", place="variable"),
    Setting("project", "text", "", "Project of calls that name none; `--project` overrides it.", project="project"),
    Setting("tools", "text", "core", "Tools: profiles (core, agent, admin, layers, all) or names, comma-separated."),
    Setting("log_level", "choice", "error", "The lowest level on stderr.", ("debug", "info", "warning", "error")),
    Setting("fact_rules", "text", "", "A JSON file with more rules for checking facts."),
    Setting("recency_half_life_days", "whole", 30, "Days after which the bonus for recency is halved.", (1, 365)),
    Setting("fusion", "choice", "evidence", "Mix of words and vectors; weighted: .3 and .7.", ("evidence", "weighted")),
    Setting("gate", "choice", "heuristic", "Which prompts get memory; off: all.", ("heuristic", "off", "llm")),
    Setting("memory_budget_tokens", "whole", 800, "The most tokens that one prompt gets.", (100, 4_000)),
    Setting("full_budget_tokens", "whole", 10_000, "The most tokens of a context in mode full.", (100, 16_384)),
    Setting("start_mode", "choice", "session", "Context of a new session; full: everything.", ("session", "full")),
    Setting("hook_pretool", "switch", False, "Give an agent the memories about a file before it edits it."),
    Setting("hook_nudge", "switch", True, "Remind an agent to save if files changed and nothing was saved."),
    Setting("nudge_cooldown_secs", "whole", 0, "Seconds between reminders; 0: one per session.", (0, 10**9)),
    Setting("defer_memory", "switch", False, "Stop the original Engram's plugin from instructing agents."),
    Setting("holdout", "number", 0.0, "Share of cases in which no memory is given, for `engram worth`.", (0, 0.5)),
    Setting("documents", "switch", True, "Index git history and docs automatically."),
    Setting("enabled", "switch", True, "Run hooks; off: they do nothing.", project="enabled"),
    Setting("record", "switch", True, "Let hooks keep prompts, messages and learnings.", project="record"),
    Setting("inject", "switch", True, "Let hooks give memory to the agent.", project="inject"),
    Setting("turn_retention_days", "whole", 30, "Days that raw messages are kept; 0: none are kept.", (0, 3_650)),
    Setting("distill", "choice", "auto", "Summarize sessions that left no summary.", ("auto", "manual", "off")),
    Setting("distill_idle_seconds", "whole", 60, "Seconds of silence before a session is summarized.", (10, 3_600)),
    Setting("distill_command", "text", "", "A program that writes session summaries, JSON in and JSON out."),
    Setting("distill_url", "text", "", "The endpoint (OpenAI-compatible) that writes session summaries."),
    Setting("distill_model", "text", "", "The model of distill_url."),
    Setting("distill_key_variable", "text", "", "Name of the variable with the API key of distill_url."),
    Setting("distill_timeout", "whole", 120, "Seconds that the program or endpoint may take.", (1, 600)),
    Setting("distill_daily_tokens", "whole", 0, "The most tokens a day for summaries; 0: no limit.", (0, 10**9)),
    Setting("consolidate_hours", "whole", 24, "Hours between runs that archive unused derived memories.", (1, 168)),
    Setting("salience_floor", "number", 0.2, "The weight below which unused derived facts are archived.", (0, 1)),
    Setting("episode_retention_days", "whole", 365, "Days until derived summaries are archived; 0: never.", (0, 3_650)),
    Setting("timezone", "zone", "", "Time zone of your days; default: the system's."),
    Setting("embedder", "text", "", "Model for semantic search; set it with `engram vectors on`."),
    Setting("embedder_key_variable", "text", "", "Name of the variable with the API key of the embedder."),
    Setting("sync_prompts", "switch", False, "Sync the prompts you type."),
    Setting("cloud_server", "text", "", "Address of the team's server; set by `engram cloud login`."),
    Setting("cloud_autosync", "switch", True, "Sync in the background after a login."),
    Setting("cloud_token", "secret", "", "Token for cloud_server, instead of the login's.", place="variable"),
    Setting("port", "port", 7437, "The port of `engram serve`.", (1, 65_535), place="variable"),
    Setting("socket", "text", "", "A unix socket for `engram serve`, instead of a port.", place="variable"),
    Setting("http_token", "secret", "", "The token that requests to `engram serve` need.", place="variable"),
    Setting("http_open", "switch", False, "Answer every local user without a token (for Engram's plugins)."),
    Setting("key_command", "text", "", "A program that prints the key of an encrypted memory.", place="variable"),
    Setting("sync_passphrase", "passphrase", "", "Passphrase of an encrypted `.engram` folder.", place="variable"),
    Setting("now", "text", "", "A fixed time (RFC 3339) instead of the clock, for tests.", place="variable"),
    # Variables of the team's server.
    Setting("database_url", "secret", "", "PostgreSQL database of `engram cloud serve`.", place="server"),
    Setting("cloud_host", "text", "127.0.0.1", "The address that `engram cloud serve` listens on.", place="server"),
    Setting("cloud_port", "port", 8080, "The port of `engram cloud serve`.", (0, 65_535), place="server"),
    Setting("cloud_admin", "secret", "", "Token of the server's first admin account.", place="server"),
    Setting("cloud_allowed_projects", "text", "", "Projects of `ENGRAM_CLOUD_TOKEN`: a list, or `*`.", place="server"),
    Setting("cloud_token_pepper", "secret", "", "Secret in token hashes; it must stay the same.", place="server"),
    Setting("cloud_max_push_bytes", "whole", 2**23, "Most bytes of a push, unpacked.", (2**16, 2**28), place="server"),
    Setting("cloud_audit_days", "whole", 365, "Days that the server keeps its audit log.", (1, 36_500), place="server"),
    # What `.engram.json` alone sets.
    Setting("default_scope", "choice", "project", "The scope of what is saved without one.", ("project", "personal"),
            place="project", project="default_scope"),
    Setting("ignore", "list", (), "Folders never to be projects; files never to be linked.", (100, 256),
            place="project", project="ignore"),
    Setting("context_tokens", "whole", 1_500, "The most tokens of a new session's context.", (100, 20_000),
            place="project", project="budgets.context_tokens"),
    Setting("search_limit", "whole", 10, "The most results of a search that gives no limit.", (1, 20),
            place="project", project="budgets.search_limit"),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}
DEFAULTS: Mapping[str, Any] = {setting.name: setting.default for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of this process.

    ``sources`` says of each setting that has not its default whether a variable or ``config.json`` set it. The keys of
    endpoints are those in the variables that settings name. ``warnings``: what was ignored or moved into its range."""

    data_dir: Path
    project: str = DEFAULTS["project"]
    tools: str = DEFAULTS["tools"]
    log_level: str = DEFAULTS["log_level"]
    fact_rules: str = DEFAULTS["fact_rules"]
    recency_half_life_days: int = DEFAULTS["recency_half_life_days"]
    fusion: str = DEFAULTS["fusion"]
    gate: str = DEFAULTS["gate"]
    memory_budget_tokens: int = DEFAULTS["memory_budget_tokens"]
    full_budget_tokens: int = DEFAULTS["full_budget_tokens"]
    start_mode: str = DEFAULTS["start_mode"]
    hook_pretool: bool = DEFAULTS["hook_pretool"]
    hook_nudge: bool = DEFAULTS["hook_nudge"]
    nudge_cooldown_secs: int = DEFAULTS["nudge_cooldown_secs"]
    defer_memory: bool = DEFAULTS["defer_memory"]
    holdout: float = DEFAULTS["holdout"]
    documents: bool = DEFAULTS["documents"]
    enabled: bool = DEFAULTS["enabled"]
    record: bool = DEFAULTS["record"]
    inject: bool = DEFAULTS["inject"]
    turn_retention_days: int = DEFAULTS["turn_retention_days"]
    distill: str = DEFAULTS["distill"]
    distill_idle_seconds: int = DEFAULTS["distill_idle_seconds"]
    distill_command: str = DEFAULTS["distill_command"]
    distill_url: str = DEFAULTS["distill_url"]
    distill_model: str = DEFAULTS["distill_model"]
    distill_key_variable: str = DEFAULTS["distill_key_variable"]
    distill_key: str = field(default="", repr=False)
    distill_timeout: int = DEFAULTS["distill_timeout"]
    distill_daily_tokens: int = DEFAULTS["distill_daily_tokens"]
    consolidate_hours: int = DEFAULTS["consolidate_hours"]
    salience_floor: float = DEFAULTS["salience_floor"]
    episode_retention_days: int = DEFAULTS["episode_retention_days"]
    timezone: str = DEFAULTS["timezone"]
    embedder: str = DEFAULTS["embedder"]
    embedder_key_variable: str = DEFAULTS["embedder_key_variable"]
    embedder_key: str = field(default="", repr=False)
    sync_prompts: bool = DEFAULTS["sync_prompts"]
    cloud_server: str = DEFAULTS["cloud_server"]
    cloud_autosync: bool = DEFAULTS["cloud_autosync"]
    cloud_token: str = field(default=DEFAULTS["cloud_token"], repr=False)
    port: int = DEFAULTS["port"]
    socket: str = DEFAULTS["socket"]
    http_token: str = field(default=DEFAULTS["http_token"], repr=False)
    http_open: bool = DEFAULTS["http_open"]
    key_command: str = DEFAULTS["key_command"]
    sync_passphrase: str = field(default=DEFAULTS["sync_passphrase"], repr=False)
    agent_folders: tuple[str, ...] = ()
    clock: Clock = utc_now
    sources: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Told, ...] = ()

    @property
    def turn_days(self) -> int:
        """How many days raw messages are kept: for ever where episodes are (Osaurus has one setting for both)."""
        stays = not self.episode_retention_days and "turn_retention_days" not in self.sources
        return 36_500 if stays else self.turn_retention_days

    @property
    def zone(self) -> tzinfo | None:
        """The zone of the user's days; None is the system's."""
        return zone_named(self.timezone)

    def by_variable(self, name: str) -> bool | None:
        """Return what a variable says of a switch, None where none does."""
        return getattr(self, name) if self.sources.get(name, CONFIG_NAME) != CONFIG_NAME else None


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting with its present value and the ``source``: its variable, ``config.json`` or ``default``."""

    setting: Setting
    value: Any
    source: str

    @property
    def shown(self) -> str:
        """The value as somebody would write it, empty for none."""
        if isinstance(self.value, bool):
            return "on" if self.value else "off"
        return "" if self.value == () else str(self.value)


def load_settings(environ: Mapping[str, str] | None = None, *, data_dir: Path | None = None) -> Settings:
    """Read the settings once, at the start of a process.

    Raises:
        DataDirError: ``ENGRAM_DATA_DIR`` is not an absolute path.
        InvalidArgumentError: ``ENGRAM_NOW`` is not a time.
    """
    environ = os.environ if environ is None else environ
    folder = data_dir or _data_dir(environ)
    warnings: list[Told] = []
    found = {one.setting.name: one for one in _resolved(folder, environ, _OWN, warnings)}
    values = {name: one.value for name, one in found.items()}
    return Settings(
        folder,
        **values,
        distill_key=environ.get(values["distill_key_variable"], ""),
        embedder_key=environ.get(values["embedder_key_variable"], ""),
        agent_folders=tuple(environ[name] for name in _AGENT_FOLDERS if environ.get(name)),
        clock=_clock(environ),
        sources={name: one.source for name, one in found.items() if one.source != "default"},
        warnings=tuple(warnings),
    )


# What this machine's own processes run with; the folder and the clock are read apart.
_OWN = tuple(one for one in SETTINGS if one.place in ("machine", "variable") and one.name not in ("data_dir", "now"))


def setting_values(folder: Path, environ: Mapping[str, str] | None = None) -> tuple[SettingValue, ...]:
    """Return every setting of this machine as it is now; secrets and credentials in addresses are hidden."""
    from engram_py.base.capture.redact import redact

    found = []
    machine = tuple(one for one in SETTINGS if one.place != "project")
    for one in _resolved(folder, os.environ if environ is None else environ, machine, []):
        value = str(folder) if one.setting.name == "data_dir" else one.value
        value = redact(value).text if isinstance(value, str) else value
        found.append(SettingValue(one.setting, HIDDEN if one.setting.is_secret and value else value, one.source))
    return tuple(found)


def _resolved(
    folder: Path, environ: Mapping[str, str], settings: Iterable[Setting], warnings: list[Told]
) -> Iterator[SettingValue]:
    """Yield the value of each setting: from its variable, else from the file, else its default. An invalid value counts
    as missing."""
    kept = _settings_in_file(folder / CONFIG_NAME, warnings)
    for setting in settings:
        variable = setting.variable
        for source, name, raw in (
            (variable, variable, environ.get(variable, "")),
            (CONFIG_NAME, f"{CONFIG_NAME}: {setting.name}", kept.get(setting.name, "")),
        ):
            if isinstance(raw, str) and not raw.strip():
                continue
            value, said = setting.take(raw, name)
            if said:
                warnings.append(said)
            if value is not None:
                yield SettingValue(setting, value, source)
                break
        else:
            yield SettingValue(setting, setting.default, "default")


def _settings_in_file(path: Path, warnings: list[Told]) -> dict[str, object]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
        if not isinstance(raw, dict):
            raise ValueError("it is not a JSON object")
    except (FileNotFoundError, NotADirectoryError):  # the store says what is wrong with the data directory
        return {}
    except (OSError, ValueError, RecursionError) as exc:
        from engram_py.base.reasons import reason

        warnings.append(reason("file_ignored", file=str(path), problem=str(exc)))
        return {}
    known = {name: value for name, value in raw.items() if name in BY_NAME and BY_NAME[name].key}
    for name in raw.keys() - known.keys():
        from engram_py.base.reasons import reason

        variable = BY_NAME[name].variable if name in BY_NAME else ""
        warnings.append(reason("not_of_this_file", setting=f"{CONFIG_NAME}: {name[:40]}", variable=variable))
    return known


def _data_dir(environ: Mapping[str, str]) -> Path:
    named = environ.get("ENGRAM_DATA_DIR", "").strip()
    if not named:
        return _usual_data_dir(environ)
    try:
        path = Path(named).expanduser()
    except RuntimeError as exc:
        raise DataDirError(named, "there is no such home directory") from exc
    if not path.is_absolute():
        raise DataDirError(named, "the path is relative, and would be another folder in each process")
    return path


def _usual_data_dir(environ: Mapping[str, str]) -> Path:
    """Return the platform's folder for data. On Linux by hand, as platformdirs says: to import that takes 7 ms."""
    home = environ.get("HOME", "")
    if sys.platform == "linux" and Path(home).is_absolute() and "ANDROID_DATA" not in environ:
        named = environ.get("XDG_DATA_HOME", "")
        return (Path(named) if Path(named).is_absolute() else Path(home, ".local", "share")) / "engram"
    from platformdirs import user_data_path

    try:
        return user_data_path("engram", appauthor=False)
    except RuntimeError as exc:  # neither HOME nor an account entry: a container under another user id
        raise DataDirError("~/.local/share/engram", "HOME is not set, and this account has no home directory") from exc


def _clock(environ: Mapping[str, str]) -> Clock:
    now = environ.get("ENGRAM_NOW", "").strip()
    if not now:
        return utc_now
    if parse_time(now) is None:
        raise InvalidArgumentError("ENGRAM_NOW", now, expected="a time such as 2026-01-02T03:04:05Z")
    return fixed_clock(now)


def keep_setting(folder: Path, name: str, value: object) -> None:
    """Write one setting into ``config.json``, in one step; None takes it out. The rest stays as it is.

    Raises InvalidArgumentError: the file is there and cannot be read or written, so it is left alone.
    """
    from engram_py.base.files import write_atomically

    path = folder / CONFIG_NAME
    try:
        kept = json.loads(path.read_text(encoding="utf-8-sig")) if path.exists() else {}
        if not isinstance(kept, dict):
            raise ValueError("it is not a JSON object")
        kept = {key: was for key, was in kept.items() if key != name} | ({} if value is None else {name: value})
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(kept, ensure_ascii=False, indent=2) + "\n").encode())
    except (OSError, ValueError, RecursionError) as exc:
        raise InvalidArgumentError(str(path), str(exc), expected="a JSON object that can be written") from exc


def is_kept(folder: Path, name: str) -> bool:
    """Return whether ``config.json`` says anything of the setting, be it that it is empty."""
    return name in _settings_in_file(folder / CONFIG_NAME, [])


def following(folder: Path, name: str) -> Callable[[], str]:
    """Return what tells a text setting's present value: another process may change ``config.json`` meanwhile."""
    path = folder / CONFIG_NAME
    stamp: tuple[int, int, int] | None = None
    value = ""

    def now() -> str:
        nonlocal stamp, value
        try:
            found = path.stat()
            seen = (found.st_mtime_ns, found.st_ino, found.st_size)
        except OSError:
            seen = (0, 0, 0)
        if seen != stamp:
            [one] = _resolved(folder, os.environ, [BY_NAME[name]], [])
            stamp, value = seen, str(one.value)
        return value

    return now
