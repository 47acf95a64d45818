"""What `.engram.json` may say: every key with its check, its default and the sentence that documents it."""

from __future__ import annotations

from collections.abc import Callable

from engram_py.dataclass import dataclass
from engram_py.errors import InvalidProjectError
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
    default: object
    help: str
    example: object
    check: Callable[[object], object]
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
    if not isinstance(value, str) or value not in SCOPES:
        raise Refusal(f"must be one of {', '.join(SCOPES)}")
    return value


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


KEYS: tuple[SettingKey, ...] = (
    SettingKey(
        name="project",
        alias="project_name",
        type="text",
        default=None,
        help="The project that everything saved below this folder belongs to.",
        example="widgets",
        check=_project,
    ),
    SettingKey(
        name="default_scope",
        type="project | personal | global",
        default="project",
        help="The scope of an observation that is saved without one.",
        example="project",
        check=_scope,
    ),
    SettingKey(
        name="ignore",
        type="list of glob patterns",
        default=(),
        help="Child folders that are never offered as projects, and files that memories are never tied to.",
        example=["vendor/*", "*.lock"],
        check=_patterns,
    ),
    SettingKey(
        name="enabled",
        type="true or false",
        default=True,
        help="`false`: hooks do nothing in this project.",
        example=True,
        check=_switch,
    ),
    SettingKey(
        name="record",
        type="true or false",
        default=True,
        help="`false`: hooks keep no prompts, messages or learnings of this project.",
        example=True,
        check=_switch,
    ),
    SettingKey(
        name="inject",
        type="true or false",
        default=True,
        help="`false`: hooks give no memory to an agent in this project.",
        example=True,
        check=_switch,
    ),
    SettingKey(
        name="budgets.context_tokens",
        type="whole number, 100 to 20000",
        default=1500,
        help="The most tokens a new session is given to read.",
        example=1500,
        check=_whole(100, 20_000),
    ),
    SettingKey(
        name="budgets.search_limit",
        type="whole number, 1 to 20",
        default=10,
        help="The most results a search answers when it is not told how many.",
        example=10,
        check=_whole(1, 20),
    ),
)
