"""A guard as a value and as JSON, what it says when an act breaks it, and what is known of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import ConflictError, InvalidInputError
from engram_py.base.reasons import Told

MOST_GUARDS = 20
MOST_CHARS = 300
MOST_GLOBS = 10
OVERRULED_OFTEN = 3

TEXTS = ("command", "added", "removed", "branch", "use", "by", "deny")
_GLOBS = {"paths": "path", "within": "in"}
_FLAGS = ("regex", "strict")


@dataclass(frozen=True, slots=True)
class Guard:
    """What a decision speaks against, and what to ``use`` in its place.

    It is one of: an edit of ``paths``, which are files that HEAD has, or with ``deny`` "write" of any; a ``command`` by
    its words; a text that is ``added`` or ``removed``, in the files ``within``; else any edit and commit on a
    ``branch``. Of the others a ``branch`` says where they hold.
    ``regex``: the text is a regular expression. ``strict``: the act is denied, not only warned of. ``by`` said so.
    """

    paths: tuple[str, ...] = ()
    command: str = ""
    added: str = ""
    removed: str = ""
    within: tuple[str, ...] = ()
    branch: str = ""
    use: str = ""
    regex: bool = False
    strict: bool = False
    by: str = ""
    deny: str = ""

    @property
    def kind(self) -> str:
        """``path``, ``command``, ``added``, ``removed`` or ``branch``."""
        if self.paths:
            return "path"
        return next((name for name in ("command", "added", "removed") if getattr(self, name)), "branch")

    def values(self) -> dict[str, Any]:
        """Return it JSON-ready, without what it does not say."""
        found: dict[str, Any] = {key: list(getattr(self, name)) for name, key in _GLOBS.items()}
        found |= {name: getattr(self, name) for name in (*TEXTS, *_FLAGS)}
        return {name: value for name, value in found.items() if value}


def to_json(guards: tuple[Guard, ...]) -> str:
    return json.dumps([guard.values() for guard in guards], ensure_ascii=False)


def from_json(text: str | None) -> tuple[Guard, ...]:
    """Return the guards of a row, without what is none: another version, or somebody else, wrote it."""
    try:
        found = json.loads(text or "[]")
    except (ValueError, RecursionError):
        return ()
    read = (_read(one) for one in (found if isinstance(found, list) else [])[:MOST_GUARDS])
    return tuple(guard for guard in read if guard is not None)


def _read(value: object) -> Guard | None:
    if not isinstance(value, Mapping):
        return None
    texts = {name: value.get(name, "") for name in TEXTS}
    globs = {name: value.get(key, []) for name, key in _GLOBS.items()}
    lists = [one for one in globs.values() if isinstance(one, list) and len(one) <= MOST_GLOBS]
    every = [*texts.values(), *(one for some in lists for one in some)]
    if len(lists) < len(globs) or not all(isinstance(one, str) and len(one) <= MOST_CHARS for one in every):
        return None
    flags = {name: value.get(name) is True for name in _FLAGS}
    read: dict[str, Any] = texts | {name: tuple(one) for name, one in globs.items()} | flags
    guard = Guard(**read)
    return guard if guard.paths or any(getattr(guard, name) for name in TEXTS[:4]) else None


@dataclass(frozen=True, slots=True)
class Broken:
    """A guard that an act breaks: whose it is, and what of the act breaks it, a file or a command."""

    id: int
    title: str
    type: str
    guard: Guard
    subject: str


@dataclass(frozen=True, slots=True)
class Objection:
    """What is said before a tool runs. ``unchecked`` are memories from elsewhere whose guards would have spoken."""

    session_id: str
    broken: tuple[Broken, ...]
    unchecked: tuple[int, ...] = ()

    @property
    def denies(self) -> bool:
        """Whether the tool may not run."""
        return any(one.guard.strict for one in self.broken)


@dataclass(frozen=True, slots=True)
class Found:
    """A place of a diff that breaks a guard; ``line`` is 0 where it is the file, or the branch, as a whole."""

    file: str
    line: int
    id: int
    title: str
    type: str
    author: str
    use: str
    strict: bool
    rule: Guard


@dataclass(frozen=True, slots=True)
class Checked:
    """What a diff breaks, and how many guards and files were looked at."""

    found: tuple[Found, ...]
    guards: int
    files: int
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardLine:
    """One guard of an observation, and in how many moments its observation spoke and what came of them."""

    id: int
    number: int
    title: str
    project: str
    rule: Guard
    fired: int = 0
    heeded: int = 0
    ignored: int = 0
    overruled: int = 0
    to_review: bool = False
    unchecked: str | None = None


@dataclass(frozen=True, slots=True)
class GuardSet:
    """A guard that was added, accepted, removed or declined; it would have met ``hits`` of the last ``commits``."""

    outcome: str
    id: int
    title: str
    rule: Guard | None = None
    hits: int = 0
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Silenced:
    """A guard that is silent in some sessions from now on; ``to_review``: it was overruled so often."""

    id: int
    title: str
    sessions: tuple[str, ...]
    overruled: int
    to_review: bool


@dataclass(frozen=True, slots=True)
class Offered:
    """A guard that the text of an observation offers, and nobody accepted or declined."""

    id: int
    title: str
    project: str
    rule: Guard


class NoGuardError(ConflictError):
    def __init__(self, observation_id: int, *, offered: bool = False) -> None:
        told = "suggests no guard" if offered else "has no such guard"
        add = f"add one: `engram guard add {observation_id} --command 'npm *'`"
        hint = add if offered else "`engram guard` lists them"
        super().__init__(f"#{observation_id} {told}", hint=hint, facts={"id": observation_id})


class NoDiffError(InvalidInputError):
    def __init__(self, what: str) -> None:
        self.what = what[:200]
        super().__init__(
            f"cannot check {self.what}: no such commit, range or file",
            hint="use `engram check main..HEAD`, `--staged` or files",
        )
