"""Look for the memories that speak of an error, and keep what made a command pass as one of them.

A fix is an observation of type ``fix`` that hooks keep, at most one an error: the error's lines, the command, and a
line for each cause, the latest first. It is found by its own text, so one from another machine serves as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.lazy import regex
from engram_py.base.times import to_text
from engram_py.guidance.failures import table
from engram_py.guidance.failures.signature import Signature, flattened, is_in, is_of, words_of
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.table import COLUMNS, VISIBLE, read
from engram_py.memory.observations.topics import FAILURE
from engram_py.memory.observations.values import AnchorState, Draft, Observation, is_withheld
from engram_py.memory.privacy.provenance import GIVEN, NOT_TOLD, RETIRED
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import Place

if TYPE_CHECKING:
    from engram_py.guidance.failures.table import Failure
    from engram_py.memory.observations.usage import Usage
    from engram_py.memory.writing.observations import Observations

_TYPE = "fix"
_LOOKED_AT, _POOL = 400, 12  # rows of the index, the newest first, and those whose text is read
_MOST_SHARING = 2  # errors that are not the same and have a line in common, which then names none
_MOST_CAUSES = 2
_KEPT_CAUSES = 3  # of a fix: one more than is told, so that it is known that they are too many
_FILES, _COMMANDS = 8, 4
_PULLED = 20  # files of commits that came while a command failed: with more, nobody mended it by hand
_TEXT_CHARS, _WHY_CHARS = 8_000, 300
_GIT_SECONDS = 0.5
_AFTERWARDS_SECONDS = 1_800  # agents save a bug fix once it works

_REMEDY = regex(r"(?m)^- (\d{4}-\d\d-\d\d)(?: \((\d+) times\))?: (.+)$")
_DONE = regex(r"(?:^|; )(edited|ran|passed as|commit) ((?:`[^`]*`(?:, )?)+)")
_NAMED = regex(r"`([^`]+)`")
_PARTS = {"edited": "files", "ran": "commands", "passed as": "form", "commit": "commit"}
_WHY = regex(r"(?m)^\*\*Why\*\*: (.+)$")

_SPEAKING = f"""
select {COLUMNS} from observations
where id in (
    select rowid from observations_fts where observations_fts match :match order by rowid desc limit {_LOOKED_AT}
)
and deleted_at is null and lifecycle = 'active' and (expires_at is null or expires_at > :now)
and type not in (select value from json_each(:without)) and (origin in ('user', 'agent') or topic_key like '{FAILURE}%')
and {VISIBLE} and {GIVEN} and id not in ({RETIRED})
order by updated_at desc, id desc limit {_POOL}
"""
_FIXES = f"""
select {COLUMNS} from observations
where topic_key > '{FAILURE}' and topic_key < '{FAILURE[:-1]}0' and +deleted_at is null and lifecycle = 'active'
and {VISIBLE}
order by updated_at desc, id desc limit :limit
"""
# What the agent said about it while it mended it.
_SAID = f"""
select {COLUMNS} from observations
where session_id = :session_id and type in ('bugfix', 'fix', 'discovery', 'learning', 'gotcha')
and origin in ('user', 'agent') and deleted_at is null and updated_at between :since and :until
order by type in ('bugfix', 'fix') desc, id desc limit 1
"""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What made a command pass: by a fix that was seen, or by a memory that somebody saved (``text``)."""

    id: int
    title: str
    day: str
    times: int = 1
    files: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    form: str = ""
    commit: str = ""
    why: str = ""
    text: str = ""
    states: tuple[AnchorState, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    """What is known of an error that returned: its line, and one remedy or two, the later first."""

    line: str
    remedies: tuple[Remedy, ...]

    @property
    def observation_ids(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(one.id for one in self.remedies))


@dataclass(frozen=True, slots=True)
class Explained:
    """How an output was understood. ``verdict``: ``told``, ``not_telling``, ``shared``, ``not_known``, ``files_gone``
    or ``several``."""

    verdict: str
    lines: tuple[str, ...] = ()
    advice: Advice | None = None
    ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class FixLine:
    """One fix that was kept."""

    id: int
    title: str
    project: str
    remedies: tuple[Remedy, ...] = field(default=())


class Fixes:
    """Looks fixes up, and makes them."""

    def __init__(self, core: Core, anchors: Anchors, usage: Usage, observations: Callable[[], Observations]) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._anchors, self._usage, self._observations = anchors, usage, observations

    def kept(self, place: Place, *, limit: int) -> tuple[FixLine, ...]:
        """Return the fixes that were kept, the latest first."""
        rows = _latest_fixes(self._store, projects=place.reads, limit=limit)
        return tuple(FixLine(row.id, row.title, row.project, self._remedies(row, ())) for row in rows)

    def told(self, ids: Sequence[int]) -> None:
        """Count that an agent was given these memories: what nobody needs fades."""
        self._usage.surfaced(ids)

    # --- looking up --------------------------------------------------------------------------------------

    def explained(self, found: Signature, place: Place, until: float) -> Explained:
        lines = tuple(found.said)
        if found.is_nothing:
            return Explained("not_telling")
        keys = [key for key in found.keys if table.sharing(self._store, key) <= _MOST_SHARING]
        if not keys:
            return Explained("shared", lines)
        rows = self._speaking(keys, place)
        ids = tuple(row.id for row in rows)
        if not rows or time.monotonic() >= until:
            return Explained("not_known", lines, ids=ids)
        seconds = max(0.0, min(_GIT_SECONDS, (until - time.monotonic()) / 2))
        states = self._anchors.states(rows, git_seconds=seconds)
        here = [row for row in rows if not _is_gone(states.get(row.id, ()))]
        if not here:
            return Explained("files_gone", lines, ids=ids)
        remedies = self._causes(here, states)
        if not remedies or len(remedies) > _MOST_CAUSES:
            return Explained("several" if remedies else "not_known", lines, ids=ids)
        remedies = [self._with_commit(one, until) for one in remedies]
        return Explained("told", lines, Advice(found.said[0], tuple(remedies)), ids)

    def _speaking(self, keys: Sequence[str], place: Place) -> list[Observation]:
        """Return the memories whose text holds the line of a key."""
        parts = [" AND ".join(f'"{word}"' for word in words_of(key)[:6]) for key in keys]
        match = " OR ".join(f"({part})" for part in parts if part)
        if not match:
            return []
        rows = _speaking(self._store, match, projects=place.reads, now=self._journal.now())
        rows = [row for row in rows if not is_withheld(row)]
        return [row for row in rows if _speaks_of(row, keys)]

    def _causes(self, rows: Sequence[Observation], states: dict[int, tuple[AnchorState, ...]]) -> list[Remedy]:
        """Return what made it pass, the latest first; what was saved while a fix was made tells of the same cause."""
        seen = [row for row in rows if _is_fix(row)]
        sessions = {row.session_id for row in seen}
        said = [row for row in rows if not _is_fix(row) and row.session_id not in sessions]
        found = [one for row in seen for one in self._remedies(row, states.get(row.id, ()))]
        found += [
            Remedy(row.id, row.title, row.updated_at[:10], text=row.content, states=states.get(row.id, ()))
            for row in {row.session_id: row for row in reversed(said)}.values()
        ]
        return sorted(found, key=lambda one: one.day, reverse=True)

    def _remedies(self, row: Observation, states: tuple[AnchorState, ...]) -> tuple[Remedy, ...]:
        found = []
        for day, times, said in _REMEDY.findall(row.content):
            found.append(Remedy(row.id, row.title, day, int(times or 1), **_remedy_fields(said)))
        return (replace(found[0], why=self._why(row, found[0]), states=states), *found[1:]) if found else ()

    def _why(self, row: Observation, remedy: Remedy) -> str:
        """Return why it passed: what a fix has, else what its session saved soon after about the same files."""
        if known := _WHY.search(row.content):
            return known[1]
        until = to_text(datetime.fromisoformat(row.updated_at) + timedelta(seconds=_AFTERWARDS_SECONDS))
        note = _said_meanwhile(self._store, row.session_id, row.updated_at, until)
        names = [Path(name).name for name in remedy.files]
        return _title_and_beginning(note) if note and any(name in note.content for name in names) else ""

    def _with_commit(self, remedy: Remedy, until: float) -> Remedy:
        """Return a remedy with the commit that its files went into, the first one after that day began."""
        repository = self._projects.settings_here().repository
        seconds = min(_GIT_SECONDS, until - time.monotonic())
        if remedy.commit or not remedy.files or repository is None or seconds <= 0:
            return remedy
        arguments = ["log", "--format=%h", f"--since={remedy.day}T00:00:00Z", "--", *remedy.files]
        answer = ask_git(repository.root, *arguments, deadline=Deadline(seconds))
        commits = answer[0].decode(errors="replace").split() if answer else []
        return replace(remedy, commit=commits[-1]) if commits else remedy

    # --- keeping -----------------------------------------------------------------------------------------

    def made(
        self, failure: Failure, command: str, form: str, session_id: str, directory: Path, until: float
    ) -> int | None:
        """Save what was done between failing and passing; return the fix's id, None where nothing was.

        ``form`` is how the command was written that passes, where that sets variables.
        """
        done = table.repairs(self._store, failure.id)
        place = self._projects.for_read(session_id=session_id)
        root = self._root(directory)
        files = [name for kind, path, _ in done if kind == "file" and (name := _below(root, directory, path))]
        moved = place.commit if place.commit != failure.git_commit else None
        files += [one for one in self._pulled(root, failure.git_commit, moved, until) if one not in files]
        commands = _telling([name for kind, name, _ in done if kind == "command"], failure.keys)
        if not (files or commands or moved or form):
            return None
        since = min([failure.failed_at, *(at for _, _, at in done)])
        said = _remedy_text(self._journal.now()[:10], list(dict.fromkeys(files)), commands, form, moved)
        with self._store.transaction():  # another agent may be adding its own cause
            return self._save(failure, said, files, command, session_id, place, since)

    def _root(self, directory: Path) -> Path:
        repository = self._projects.settings_here().repository
        return repository.root if repository else directory

    def _pulled(self, root: Path, before: str | None, after: str | None, until: float) -> list[str]:
        """Return the files that commits changed where HEAD moved on; none if they are too many."""
        seconds = min(_GIT_SECONDS, until - time.monotonic())
        if not before or not after or seconds <= 0:
            return []
        answer = ask_git(root, "diff", "--name-only", "-z", before, after, "--", deadline=Deadline(seconds))
        names = answer[0].decode(errors="replace").split("\0")[:-1] if answer else []
        return names if len(names) <= _PULLED else []

    def _save(
        self, failure: Failure, said: str, files: Sequence[str], command: str, session_id: str, place: Place, since: str
    ) -> int | None:
        old = self._old(failure, place.project)
        if old is not None and old.origin != "derived":
            return old.id  # somebody rewrote it, and knows better
        lines, remedies = list(failure.said), [said]
        if old is not None and not old.unchecked:
            lines = list(dict.fromkeys([*_error_lines(old.content), *lines]))
            remedies = _joined(said, [found[0] for found in _REMEDY.finditer(old.content)])
        note = _said_meanwhile(self._store, session_id, since, self._journal.now())
        known = _WHY.search(old.content) if old is not None and not old.unchecked else None
        why = [f"**Why**: {_title_and_beginning(note)}"] if note else [known[0]] if known else []
        quoted = [f"`{line.replace('`', chr(39))}`" for line in lines[:4]]
        places = [f"in {where}" for key in failure.keys[:1] if (where := key.partition(" @ ")[2])]
        content = "\n".join([*quoted, *places, f"Command: `{_ticked(command)}`", "", *remedies, *why])
        topic = (old.topic_key if old else None) or topic_of(failure.keys[0])
        title = f"Fix of {quoted[0]}"[:200]  # what a tool printed is quoted
        draft = Draft(title, content, _TYPE, "project", topic, tool_name="hook", origin="derived", files=tuple(files))
        saved = self._observations().save(draft, session_id=session_id)
        return saved.id

    def _old(self, failure: Failure, project: str) -> Observation | None:
        """Return the fix that told of this error, or that of its signature."""
        topic = topic_of(failure.keys[0])
        if failure.observation_id is not None:
            told = observation_table.by_id(self._store, failure.observation_id)
            here = told is not None and told.project == project and told.deleted_at is None
            if told is not None and here and _is_fix(told) and _speaks_of(told, failure.keys):
                return told
        return observation_table.live_topic(self._store, topic_key=topic, project=project, scope="project")


# --- rows ------------------------------------------------------------------------------------------------------


def _speaking(store: Store, match: str, *, projects: Sequence[str] | None, now: str) -> list[Observation]:
    """Return the memories with these words that may speak as the user's own: fixes, and what somebody saved."""
    without = [*NOT_TOLD, "passive"]
    projects = None if projects is None else list(projects)
    return read(store, _SPEAKING, match=match, projects=projects, without=without, now=now)


def _latest_fixes(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[Observation]:
    return read(store, _FIXES, projects=None if projects is None else list(projects), limit=limit)


def _said_meanwhile(store: Store, session_id: str, since: str, until: str) -> Observation | None:
    """Return what was saved last in a session between two times about a bug."""
    return next(iter(read(store, _SAID, session_id=session_id, since=since, until=until)), None)


# --- texts -----------------------------------------------------------------------------------------------------
def topic_of(key: str) -> str:
    """Return the topic key of the fix of an error."""
    return FAILURE + sha256(key.encode()).hexdigest()[:8]


def _is_fix(row: Observation) -> bool:
    return (row.topic_key or "").startswith(FAILURE)


def _speaks_of(row: Observation, keys: Sequence[str]) -> bool:
    """Return whether a memory has the line of a key: a fix as one of its errors, another anywhere in its text."""
    text = flattened(f"{row.title}\n{row.content[:_TEXT_CHARS]}")
    if _is_fix(row) and row.origin == "derived":
        lines = _error_lines(row.content)
        return any(is_of(key, lines, text) for key in keys)
    return any(is_in(key, text) for key in keys)


def _is_gone(states: Sequence[AnchorState]) -> bool:
    return bool(states) and all(state.state == "gone" for state in states)


def _below(root: Path, directory: Path, name: str) -> str:
    """Return a file's path from the root, "" of one elsewhere."""
    path = os.path.normpath(directory / name)
    with suppress(ValueError):
        return Path(os.path.realpath(path)).relative_to(os.path.realpath(root)).as_posix()
    return ""


def _remedy_text(day: str, files: Sequence[str], commands: Sequence[str], form: str, commit: str | None) -> str:
    named = {"edited": files[:_FILES], "ran": commands, "passed as": [form] if form else []}
    parts = [f"{verb} {', '.join(f'`{_ticked(one)}`' for one in some)}" for verb, some in named.items() if some]
    parts += [f"commit `{commit[:10]}`"] if commit else []
    return f"- {day}: {'; '.join(parts)}"


def _remedy_fields(said: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in _DONE.findall(said):
        names = tuple(_NAMED.findall(part[1]))
        field = _PARTS[part[0]]
        found[field] = names if field in ("files", "commands") else names[0]
    return found


def _joined(said: str, earlier: Sequence[str]) -> list[str]:
    """Return the remedies with a new one first; one that shares a file or a command with it is the same again."""
    names = set(_NAMED.findall(said))
    same = [one for one in earlier if names & set(_NAMED.findall(one))]
    times = 1 + sum(int(found[2] or 1) for one in same if (found := _REMEDY.match(one)))
    if same:
        said = f"{said[:12]} ({times} times){said[12:]}"
    return [said, *(one for one in earlier if one not in same)][:_KEPT_CAUSES]


def _error_lines(content: str) -> list[str]:
    lines = content.partition("\nCommand: ")[0].split("\n")
    return [line.strip("`") for line in lines if line.startswith("`")]


def _ticked(text: str) -> str:
    return text.replace("`", "'")


def _title_and_beginning(note: Observation) -> str:
    begin = " ".join(note.content.split())
    return f"{note.title} – {begin}"[:_WHY_CHARS] if begin and begin != note.title else note.title[:_WHY_CHARS]


def _telling(commands: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Return the commands most likely to have mended it, in their order: with a word of the error, else the last."""
    words = {word for key in keys for word in words_of(key) if len(word) > 3}
    related = [one for one in commands if any(word in one.lower() for word in words)]
    kept = dict.fromkeys([*related[-_COMMANDS:], *reversed(commands)])
    chosen = list(kept)[:_COMMANDS]
    return [one for one in commands if one in chosen]
