"""Keep the commands that failed and what made them pass, and tell it when the same error returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.capture.acts import Act
from engram_py.dataclass import dataclass, field
from engram_py.failures import table
from engram_py.lazy import regex
from engram_py.projects.projects import Core

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors
    from engram_py.anchors.values import AnchorState
    from engram_py.failures.signature import Signature
    from engram_py.failures.table import Failure
    from engram_py.ledger.moments import Moments
    from engram_py.observations.observations import Observations
    from engram_py.observations.values import Observation
    from engram_py.projects.values import Place

_COMMAND_CHARS, _NAME_CHARS = 1_000, 300
_MOST_SHARING = 2  # errors that are not the same and have a line in common, which then names none
_MOST_CAUSES = 2
_KEPT_CAUSES = 3  # of a fix: one more than is told, so that it is known that they are too many
_FILES, _COMMANDS = 8, 4
_PULLED = 20  # files of commits that came while a command failed: with more, nobody mended it by hand
_TEXT_CHARS = 8_000
_WHY_CHARS = 300
_GIT_SECONDS = 0.5

_BEFORE = regex(r"^(?:cd\s+(\S+)\s*(?:&&|;)\s*|(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|\S*)\s+))+")
_AFTER = regex(r"(?:\s+2>&1)+$")
_REMEDY = regex(r"(?m)^- (\d{4}-\d\d-\d\d)(?: \((\d+) times\))?: (.+)$")
_NAMED = regex(r"`([^`]+)`")
_PARTS = {"edited": "files", "ran": "commands", "passed as": "form", "commit": "commit"}
_WHY = regex(r"(?m)^\*\*Why\*\*: (.+)$")
# What only looks: it mends nothing, unless what it prints is written somewhere.
_LOOKS = """
ls cat head tail grep rg ag find fd pwd echo printf which type file stat wc tree less more diff cd man env printenv ps
sleep true date whoami du df test
"""
_GIT_LOOKS = "status log diff show blame grep branch remote rev-parse ls-files describe"
_READERS, _GIT_READERS = frozenset(_LOOKS.split()), frozenset(_GIT_LOOKS.split())


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


class Failures:
    """Keeps failures of this machine, and fixes as derived observations; looks for what speaks of an error."""

    def __init__(
        self, core: Core, anchors: Anchors, moments: Moments, observations: Callable[[], Observations]
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._anchors, self._moments, self._observations = anchors, moments, observations

    # --- what hooks tell ---------------------------------------------------------------------------------

    def did(self, act: Act, *, session_id: str) -> None:
        """Keep that something is done while commands of the session fail."""
        failing = table.still_failing(self._store, session_id)
        if not failing:
            return
        command = command_of(act.command)
        done = [("file", _redacted(name)) for name in act.files]
        done += [("command", _redacted(" ".join(act.command.split())))] if _mends(act.command) else []
        with self._store.transaction():
            for row in failing:
                for kind, name in done if command != row["command"] else ():
                    table.repaired(self._store, row["id"], kind, name[:_NAME_CHARS], self._journal.now())

    def failed(self, act: Act, output: str, *, session_id: str, directory: Path, until: float) -> Advice | None:
        """Keep a failure; return what is known of its error, once a session."""
        from engram_py.failures.signature import signature_of

        command = command_of(act.command)
        found = _without_secrets(signature_of(output, command)) if command else None
        if found is None or found.is_nothing:
            self._no_repair(act, session_id)
            return None
        place = self._projects.for_read(session_id=session_id)
        known = self._explained(found, place, until)
        advice = known.advice
        first = advice.observation_ids[0] if advice else None
        with self._store.transaction():
            table.not_repaired(self._store, session_id, _redacted(" ".join(act.command.split()))[:_NAME_CHARS])
            self._keep(found, session_id, command, _folder(act.command, directory), place, first)
        return self._once(advice, session_id) if advice else None

    def passed(self, act: Act, *, session_id: str, directory: Path, until: float) -> None:
        """Close the failures of a command that passes now, keep what was done meanwhile, and what came of advice."""
        command = command_of(act.command)
        if not any(row["command"] == command for row in table.still_failing(self._store, session_id)):
            return
        for failure in table.of_command(self._store, session_id, command, _folder(act.command, directory)):
            if failure.passed_at is not None:
                continue
            if failure.observation_id is not None:
                self._moments.came(session_id, failure.observation_id, "fix", "heeded")
            made = self._made(failure, act, session_id, directory, until)
            values = {"passed_at": self._journal.now(), "observation_id": made or failure.observation_id}
            with self._store.transaction():
                self._store.update("failures", {"id": failure.id}, values)

    # --- what people ask ---------------------------------------------------------------------------------

    def fixes(self, *, project: str | None = None, all_projects: bool = False, limit: int = 20) -> tuple[FixLine, ...]:
        """Return the fixes that were kept, the latest first."""
        place = self._projects.for_read(project, all_projects=all_projects)
        rows = table.fixes(self._store, projects=place.reads, limit=limit)
        return tuple(FixLine(row.id, row.title, row.project, self._remedies(row, ())) for row in rows)

    def explain(self, output: str) -> Explained:
        """Return what is known of an error, or why nothing would be said of it."""
        from engram_py.failures.signature import signature_of

        place = self._projects.for_read()
        return self._explained(_without_secrets(signature_of(output)), place, time.monotonic() + 4 * _GIT_SECONDS)

    # --- looking up --------------------------------------------------------------------------------------

    def _explained(self, found: Signature, place: Place, until: float) -> Explained:
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
        from engram_py.failures.signature import flattened, is_in, words_of
        from engram_py.recall.query import quote

        parts = [" AND ".join(quote(word) for word in words_of(key)[:6]) for key in keys]
        match = " OR ".join(f"({part})" for part in parts if part)
        if not match:
            return []
        rows = table.speaking(self._store, match, projects=place.reads, now=self._journal.now())
        texts = {row.id: flattened(f"{row.title}\n{row.content[:_TEXT_CHARS]}") for row in rows}
        return [row for row in rows if any(is_in(key, texts[row.id]) for key in keys)]

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
        why = _WHY.search(row.content)
        found = []
        for number, (day, times, said) in enumerate(_REMEDY.findall(row.content)):
            values = {
                "day": day, "times": int(times or 1), **_parts(said), "why": why[1] if why and not number else "",
                "states": states if not number else (),
            }  # fmt: skip
            found.append(Remedy(row.id, row.title, **values))
        return tuple(found)

    def _with_commit(self, remedy: Remedy, until: float) -> Remedy:
        """Return a remedy with the commit that its files went into, the first one after that day began."""
        repository = self._projects.settings_here().repository
        seconds = min(_GIT_SECONDS, until - time.monotonic())
        if remedy.commit or not remedy.files or repository is None or seconds <= 0:
            return remedy
        from engram_py.dataclass import replace
        from engram_py.git.program import Deadline, ask_git

        arguments = ["log", "--format=%h", f"--since={remedy.day}T00:00:00Z", "--", *remedy.files]
        answer = ask_git(repository.root, *arguments, deadline=Deadline(seconds))
        commits = answer[0].decode(errors="replace").split() if answer else []
        return replace(remedy, commit=commits[-1]) if commits else remedy

    def _once(self, advice: Advice, session_id: str) -> Advice | None:
        """Return advice that this session was not given yet; what was is recorded as repeated."""
        from engram_py.failures.signature import normalized

        subject = normalized(advice.line)
        fresh = []
        for row_id in advice.observation_ids:
            if self._moments.last(session_id, row_id, "fix") is None:
                fresh.append(row_id)
            else:
                self._moments.came(session_id, row_id, "fix", "repeated")
        if not fresh:
            return None
        held = self._moments.holds_back(session_id, "fix", subject)
        for row_id in fresh:
            self._moments.add(session_id, row_id, "fix", subject, given=not held)
        return None if held else advice

    # --- keeping -----------------------------------------------------------------------------------------

    def _no_repair(self, act: Act, session_id: str) -> None:
        if table.still_failing(self._store, session_id):
            with self._store.transaction():
                table.not_repaired(self._store, session_id, _redacted(" ".join(act.command.split()))[:_NAME_CHARS])

    def _keep(
        self, found: Signature, session_id: str, command: str, directory: str, place: Place, known: int | None
    ) -> None:
        now = self._journal.now()
        for old in table.of_command(self._store, session_id, command, directory):
            if old.keys[0] == found.keys[0] and old.passed_at is None:
                values = {"times": old.times + 1, "failed_at": now, "observation_id": known or old.observation_id}
                self._store.update("failures", {"id": old.id}, values)
                return
        values = {
            "session_id": session_id, "command": command, "directory": directory,
            "signature": "\n".join(found.keys), "excerpt": "\n".join(found.said[: found.own]),
            "git_commit": place.commit, "failed_at": now, "observation_id": known,
        }  # fmt: skip
        table.add(self._store, values)

    def _made(self, failure: Failure, act: Act, session_id: str, directory: Path, until: float) -> int | None:
        """Save what was done between failing and passing; return the fix's id, None where nothing was."""
        done = table.repairs(self._store, failure.id)
        place = self._projects.for_read(session_id=session_id)
        root = self._root(directory)
        files = [name for kind, path, _ in done if kind == "file" and (name := _below(root, directory, path))]
        moved = place.commit if place.commit != failure.git_commit else None
        files += [one for one in self._pulled(root, failure.git_commit, moved, until) if one not in files]
        commands = _telling([name for kind, name, _ in done if kind == "command"], failure.keys)
        form = _redacted(" ".join(act.command.split())) if _env_of(act.command) else ""
        if not (files or commands or moved or form):
            return None
        since = min([failure.failed_at, *(at for _, _, at in done)])
        said = _remedy_text(self._journal.now()[:10], list(dict.fromkeys(files)), commands, form, moved)
        with self._store.transaction():  # another agent may be adding its own cause
            return self._save(failure, said, files, command_of(act.command), session_id, place, since)

    def _root(self, directory: Path) -> Path:
        repository = self._projects.settings_here().repository
        return repository.root if repository else directory

    def _pulled(self, root: Path, before: str | None, after: str | None, until: float) -> list[str]:
        """Return the files that commits changed, where HEAD moved on; none where they are so many."""
        seconds = min(_GIT_SECONDS, until - time.monotonic())
        if not before or not after or seconds <= 0:
            return []
        from engram_py.git.program import Deadline, ask_git

        answer = ask_git(root, "diff", "--name-only", "-z", before, after, "--", deadline=Deadline(seconds))
        names = answer[0].decode(errors="replace").split("\0")[:-1] if answer else []
        return names if len(names) <= _PULLED else []

    def _save(
        self, failure: Failure, said: str, files: Sequence[str], command: str, session_id: str, place: Place, since: str
    ) -> int | None:
        from engram_py.observations.values import Draft

        old = self._old(failure, place.project)
        if old is not None and old.origin != "derived":
            return old.id  # somebody rewrote it, and knows better
        lines, remedies = list(failure.said), [said]
        if old is not None and not old.unchecked:
            lines = list(dict.fromkeys([*_error_lines(old.content), *lines]))
            remedies = _joined(said, [found[0] for found in _REMEDY.finditer(old.content)])
        note = table.said_meanwhile(self._store, session_id, since)
        why = [f"**Why**: {_first(note)}"] if note else []
        quoted = [f"`{line.replace('`', chr(39))}`" for line in lines[:4]]
        places = [f"in {where}" for key in failure.keys[:1] if (where := key.partition(" @ ")[2])]
        content = "\n".join([*quoted, *places, f"Command: `{_ticked(command)}`", "", *remedies, *why])
        topic = (old.topic_key if old else None) or topic_of(failure.keys[0])
        title = f"Fix: {lines[0]}"[:200]
        draft = Draft(
            title, content, table.TYPE, "project", topic, tool_name="hook", origin="derived", files=tuple(files)
        )
        saved = self._observations().save(draft, session_id=session_id)
        return saved.id

    def _old(self, failure: Failure, project: str) -> Observation | None:
        """Return the fix that told of this error, or that of its signature."""
        from engram_py.observations import table as observation_table

        topic = topic_of(failure.keys[0])
        if failure.observation_id is not None:
            told = observation_table.by_id(self._store, failure.observation_id)
            if told is not None and told.project == project and _is_fix(told) and told.deleted_at is None:
                return told
        return observation_table.live_topic(self._store, topic_key=topic, project=project, scope="project")


# --- commands --------------------------------------------------------------------------------------------------


def command_of(text: str) -> str:
    """Return a command as it is compared with others: without the folder it goes to, variables, and where it prints."""
    line = " ".join(text.split())
    return _redacted(_AFTER.sub("", _BEFORE.sub("", line)).strip())[:_COMMAND_CHARS]


def _env_of(text: str) -> bool:
    before = _BEFORE.match(" ".join(text.split()))
    return before is not None and "=" in before[0]


def _folder(text: str, directory: Path) -> str:
    """Return the folder that a command runs in, where it begins by going to one."""
    before = _BEFORE.match(" ".join(text.split()))
    if before is None or not before[1]:
        return str(directory)
    import os

    return os.path.normpath(directory / before[1].strip("'\""))


def _mends(text: str) -> bool:
    """Return whether a command may change anything."""
    words = _BEFORE.sub("", " ".join(text.split())).split()
    if not words or (words[0] in _READERS and ">" not in text):
        return False
    if words[0] == "sed" and "-i" not in words:
        return False
    return not (words[0] == "git" and len(words) > 1 and words[1] in _GIT_READERS)


def _telling(commands: Sequence[str], keys: Sequence[str]) -> list[str]:
    """Return the commands most likely to have mended it, in their order: with a word of the error, else the last."""
    from engram_py.failures.signature import words_of

    words = {word for key in keys for word in words_of(key) if len(word) > 3}
    related = [one for one in commands if any(word in one.lower() for word in words)]
    kept = dict.fromkeys([*related[-_COMMANDS:], *reversed(commands)])
    chosen = list(kept)[:_COMMANDS]
    return [one for one in commands if one in chosen]


def _redacted(text: str) -> str:
    from engram_py.capture.redact import redact

    return redact(text).text


def _without_secrets(found: Signature) -> Signature:
    from engram_py.capture.redact import redact
    from engram_py.dataclass import replace

    if not redact("\n".join((*found.said, *found.keys))).count:
        return found
    keys, said = (tuple(" ".join(redact(one).text.split()) for one in some) for some in (found.keys, found.said))
    return replace(found, keys=keys, said=said)


# --- fixes -----------------------------------------------------------------------------------------------------


def topic_of(key: str) -> str:
    """Return the topic key of the fix of an error."""
    from hashlib import sha256

    return table.TOPIC + sha256(key.encode()).hexdigest()[:8]


def _is_fix(row: Observation) -> bool:
    return (row.topic_key or "").startswith(table.TOPIC)


def _is_gone(states: Sequence[AnchorState]) -> bool:
    return bool(states) and all(state.state == "gone" for state in states)


def _below(root: Path, directory: Path, name: str) -> str:
    """Return a file's path from the root, "" of one elsewhere."""
    import os

    path = os.path.normpath(directory / name)
    with suppress(ValueError):
        return Path(os.path.realpath(path)).relative_to(os.path.realpath(root)).as_posix()
    return ""


def _remedy_text(day: str, files: Sequence[str], commands: Sequence[str], form: str, commit: str | None) -> str:
    named = {"edited": files[:_FILES], "ran": commands, "passed as": [form] if form else []}
    parts = [f"{verb} {', '.join(f'`{_ticked(one)}`' for one in some)}" for verb, some in named.items() if some]
    parts += [f"commit `{commit[:10]}`"] if commit else []
    return f"- {day}: {'; '.join(parts)}"


def _parts(said: str) -> dict[str, object]:
    """Return the fields of a remedy from its line."""
    found: dict[str, object] = {}
    for part in regex(r"(?:^|; )(edited|ran|passed as|commit) ((?:`[^`]*`(?:, )?)+)").findall(said):
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


def _first(note: Observation) -> str:
    """Return the title of what somebody saved, and how it begins."""
    begin = " ".join(note.content.split())
    return f"{note.title} – {begin}"[:_WHY_CHARS] if begin and begin != note.title else note.title[:_WHY_CHARS]
