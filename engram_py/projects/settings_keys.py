"""What `.engram.json` may say: every key with its check, its default and the sentence that documents it."""

from __future__ import annotations

from collections.abc import Callable

from engram_py.dataclass import dataclass
from engram_py.projects.errors import InvalidProjectError
from engram_py.projects.names import normalize_project

SCOPES = ("project", "personal", "global")
MAX_PATTERNS = 100
MAX_PATTERN = 256


class Refusal(ValueError):
    """A value that a key does not take; the text completes the sentence "KEY …"."""


@dataclass(frozen=True, slots=True)
class SettingKey:
    """One key: ``name`` is dotted where it stands inside an object, ``check`` returns the value or refuses it."""

    name: str
    type: str
    check: Callable[[object], object]
    default: object
    example: object
    help: str
    alias: str | None = None

    @property
    def field(self) -> str:
        """The attribute of ``ProjectSettings`` that holds the value."""
        return self.name.rpartition(".")[2]


def _project(value: object) -> str:
    if not isinstance(value, str):
        raise Refusal("must be text")
    try:
        return normalize_project(value)
    except InvalidProjectError as exc:
        raise Refusal(f"is not a project name: {exc.reason}") from exc


def _scope(value: object) -> str:
    if value == "global":
        raise Refusal("must not be global: a file that may come with a clone never writes into other projects")
    if value not in ("project", "personal"):
        raise Refusal("must be one of project, personal")
    return str(value)


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Refusal("must be a list of texts")
    if len(value) > MAX_PATTERNS or any(len(item) > MAX_PATTERN for item in value):
        raise Refusal(f"takes at most {MAX_PATTERNS} patterns of {MAX_PATTERN} characters")
    return tuple(dict.fromkeys(item.strip() for item in value if item.strip()))


def _whole(low: int, high: int) -> Callable[[object], int]:
    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise Refusal(f"must be a whole number from {low} to {high}")
        return value

    return check


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise Refusal("must be true or false")
    return value


_NAMED = "The project that everything saved below this folder belongs to."
_IGNORED = "Child folders that are never offered as projects, and files that memories are never tied to."
_OFF = "`false`: hooks do nothing in this project."
_UNRECORDED = "`false`: hooks keep no prompts, messages or learnings of this project."
_SILENT = "`false`: hooks give no memory to an agent in this project."
_BUDGET = "The most tokens a new session is given to read."
_RESULTS = "The most results a search answers when it is not told how many."
_UNSCOPED = "The scope of an observation that is saved without one."

KEYS = (
    SettingKey("project", "text", _project, None, "widgets", _NAMED, alias="project_name"),
    SettingKey("default_scope", "project | personal", _scope, "project", "project", _UNSCOPED),
    SettingKey("ignore", "list of glob patterns", _patterns, (), ["vendor/*", "*.lock"], _IGNORED),
    SettingKey("enabled", "true or false", _switch, True, True, _OFF),
    SettingKey("record", "true or false", _switch, True, True, _UNRECORDED),
    SettingKey("inject", "true or false", _switch, True, True, _SILENT),
    SettingKey("budgets.context_tokens", "whole number, 100 to 20000", _whole(100, 20_000), 1500, 1500, _BUDGET),
    SettingKey("budgets.search_limit", "whole number, 1 to 20", _whole(1, 20), 10, 10, _RESULTS),
)
