"""Projects: which one a call belongs to, and how that was found out; the one spelling of a name, and which known names
a new one resembles.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import TypedDict

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidInputError, NotFoundError
from engram_py.base.lazy import regex
from engram_py.base.reasons import Sentence, Told, operation, reason, sentence

_MOST_NAMED = 50  # of the projects there are


class InvalidProjectError(InvalidInputError):
    def __init__(self, name: str, reason: str, *, hint: str | None = None) -> None:
        self.name, self.reason = name[:80], reason
        told = f"{self.name!r} is not a project name: {reason}" if hint is None else f"project {self.name!r}: {reason}"
        super().__init__(told, hint=hint or "pass a name such as widgets, not a path")


class AmbiguousProjectError(InvalidInputError):
    def __init__(self, directory: str, candidates: Sequence[str], *reasons: Told) -> None:
        self.directory, self.candidates, self.reasons = directory, list(candidates), reasons
        choices = ", ".join(self.candidates) or "none known yet"
        first, *others = reasons or (reason("no_project_here", nameless=False),)
        more = (part for one in others for part in ("; ", one))
        super().__init__(
            sentence(first, f": {directory}", *more, f" (candidates: {choices})"),
            hint=sentence("choose its project (an agent asks the user), then repeat this with ", operation("project")),
            facts={"available_projects": self.candidates, "project_path": directory},
        )


class UnknownProjectError(NotFoundError):
    def __init__(self, name: str, similar: Sequence[str] = (), known: Sequence[str] = ()) -> None:
        self.name, self.similar, self.known = name[:80], list(similar), list(known)[:_MOST_NAMED]
        near = f"; similar: {', '.join(self.similar)}" if self.similar else ""
        super().__init__(
            f"no project {self.name!r}{near}",
            hint=sentence("list the projects with ", operation("projects")),
            facts={"available_projects": list(dict.fromkeys((*self.similar, *self.known)))},
        )


class Asked(TypedDict, total=False):
    """Where a caller wants to read or write: a project, a scope, or a session, which stands for its project."""

    project: str | None
    scope: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """The project a call belongs to.

    ``source`` says how it was found: explicit, session, override, config, git_remote, git_root,
    git_child, dir_basename, or (reads only, ``project`` empty) ambiguous, none, all. ``reads`` are the projects
    a search looks into, None meaning all of them.
    """

    project: str
    source: str
    path: str
    reads: tuple[str, ...] | None
    default_scope: str = "project"
    branch: str | None = None
    commit: str | None = None
    created: bool = False
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentProject:
    """The project of this process; never an error: ambiguity is in ``candidates`` and ``hint``."""

    project: str | None
    project_source: str
    project_path: str
    candidates: tuple[str, ...]
    remote: str | None
    branch: str | None
    known: bool
    hint: Sentence | None
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectLine:
    name: str
    observations: int
    sessions: int
    prompts: int
    last_activity_at: str | None
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """Projects whose names are alike: ``into`` holds the most observations, ``names`` are the others."""

    into: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """The projects that were removed because nothing is kept of them; with ``dry_run``, that would be."""

    names: tuple[str, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Renamed:
    """A project's old name, which goes on working, and its new one."""

    project: str
    name: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows that moved when projects became one; the old names go on working as aliases."""

    into: str
    merged: tuple[str, ...]
    observations: int
    sessions: int
    prompts: int
    folded_topics: int
    warnings: tuple[Told, ...] = ()
    dry_run: bool = False


MAX_NAME = 100
_MAX_EDITS = 3

# Direction marks and zero-width characters make two names look like one.
_INVISIBLE = frozenset("\u200b\u200e\u200f\u2060\ufeff\u061c") | frozenset(map(chr, range(0x202A, 0x202F)))
_HIDDEN = _INVISIBLE | frozenset(map(chr, range(0x2066, 0x206A)))
_REPEATED = regex(r"([-_])\1+")
_WHITESPACE = regex(r"\s+")
_SEPARATORS = regex(r"[-_\s]+")


def normalize_project(name: str) -> str:
    """Return the one spelling of a project name, which is Engram's: NFC, lower case, no repeated ``-`` or ``_``.

    Raises InvalidProjectError: it is empty, too long, a path, a secret, or holds characters that are not text.
    """
    text = name.strip()
    if flaw := _flaw(text):
        raise InvalidProjectError(name, flaw)
    if _is_secret(text):
        raise InvalidProjectError("[REDACTED]", "it looks like a secret")
    spelled = _spell(text)
    if not spelled.strip("-_. "):
        raise InvalidProjectError(name, "it has no letter or digit")
    if len(spelled) > MAX_NAME:
        raise InvalidProjectError(name, f"it has more than {MAX_NAME} characters")
    return spelled


def slug_project(text: str) -> str | None:
    """Return the project name nearest to ``text``, which may be any folder's name; None when nothing of it is left."""
    try:
        return normalize_project(text)
    except InvalidProjectError:
        pass  # so what is usable of it
    kept = "".join("-" if _unusable(char) or char in "/\\:~" else char for char in text)
    spelled = _spell(kept)[:MAX_NAME].strip("-_ ")
    try:
        return normalize_project(spelled)
    except InvalidProjectError:
        return None


def former_spelling(name: str) -> str:
    """Return the spelling of ``name`` in files of earlier versions, which wrote ``-`` for blanks."""
    return _REPEATED.sub(r"\1", _WHITESPACE.sub("-", name))


def similar_projects(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the known projects that ``name`` may have been meant for, best first.

    Alike are names that differ only in case, ``-`` and ``_``; that contain each other; or that are at most
    three edits apart, and at most a third of the shorter one, so that short names do not all look alike.
    """
    mine = _spell(name.strip())
    ranked: dict[str, tuple[int, int, str]] = {}
    for other in known:
        theirs = _spell(other.strip())
        if theirs != mine and (rank := _likeness(mine, theirs)) is not None:
            ranked[other] = (*rank, other)
    return sorted(ranked, key=ranked.__getitem__)[: max(0, limit)]


def _spell(text: str) -> str:
    # Engram lowers each character by itself: no final sigma, and a dotted capital I becomes one letter.
    lowered = "".join(char.lower()[0] for char in unicodedata.normalize("NFC", text))
    return _REPEATED.sub(r"\1", unicodedata.normalize("NFC", lowered))


def _unusable(char: str) -> bool:
    return char in _HIDDEN or unicodedata.category(char) in {"Cc", "Cs"}


def _flaw(text: str) -> str | None:
    if not text:
        return "it is empty"
    if len(text) > 4 * MAX_NAME:
        return f"it has more than {MAX_NAME} characters"
    if any(map(_unusable, text)):
        return "it holds a control or invisible character"
    if "/" in text or "\\" in text or text.startswith("~") or text in {".", ".."} or _is_drive(text[:2]):
        return "it is a path"
    return None


def _is_drive(text: str) -> bool:
    return text[1:] == ":" and text[0].isascii() and text[0].isalpha()


def _is_secret(text: str) -> bool:
    if not any(map(str.isdigit, text)):
        return False
    from engram_py.base.capture.assignments import surely_plain

    if surely_plain(text):
        return False
    from engram_py.base.capture.redact import redact  # few names are so long

    return redact(text).count > 0


def _likeness(mine: str, theirs: str) -> tuple[int, int] | None:
    first, second = _SEPARATORS.sub("", mine), _SEPARATORS.sub("", theirs)
    if first == second:
        return (0, 0)
    from engram_py.base.text.words import distance  # only another name than a known one needs it

    short, long = sorted((mine, theirs), key=len)
    allowed = min(_MAX_EDITS, len(short) // 3)
    if (edits := distance(short, long, allowed)) <= allowed:
        return (1, edits)
    if len(short) >= 3 and short in long:
        return (2, len(long) - len(short))
    return None
