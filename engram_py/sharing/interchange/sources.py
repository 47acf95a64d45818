"""Sources in text files (memory folders, transcripts, instructions, basic-memory's notes, server-memory's graph) and in
SQLite files: claude-mem's and Engram's own. Columns that a version lacks are left out.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from engram_py.base.capture.host_formats import is_trivial
from engram_py.base.capture.passive import learning_title, parse_learnings
from engram_py.base.database.connection import ForeignDatabase, open_foreign
from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of, open_regular, readable, real_path
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository, find_repository
from engram_py.base.lazy import regex
from engram_py.base.reasons import amount
from engram_py.memory.sessions.transcript_formats import turns_of_line
from engram_py.memory.sessions.values import Turn
from engram_py.recall.documents.passages import front_matter
from engram_py.sharing.interchange.import_rows import sync_id_of
from engram_py.sharing.interchange.importers import Source, changed_at, joined, moment, text_of
from engram_py.sharing.interchange.results import InvalidSourceError
from engram_py.sharing.sync.replica.models import (
    ObservationIn,
    OwnTombstone,
    OwnVersion,
    PromptIn,
    PromptTombstoneIn,
    RelationIn,
    SessionIn,
    first_problem,
)

_FENCE = regex(r"\s{0,3}(`{3,}|~{3,})")
_HEADING = regex(r"(#{1,3})\s+(\S.*)$")
_BEGIN = regex(r"\s*(?:engram:\w+|[\w-]+:(?:begin|start))\b")
_END = regex(r"\s*[\w-]*:?end\b")


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A part of a document: the headings it stands under, and its own text without that of the sections in it."""

    headings: tuple[str, ...]
    text: str


def sections(text: str) -> list[DocumentSection]:
    """Return the sections of a document with text of their own; headings inside code are code."""
    listed: list[DocumentSection] = []
    path: list[tuple[int, str]] = []
    body: list[str] = []
    fence = ""

    def close() -> None:
        own = "\n".join(body).strip()
        if own:
            listed.append(DocumentSection(tuple(title for _, title in path), own))
        body.clear()

    for line in lines_of(_without_marked(text)):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        close()
        level = len(heading[1])
        path = [*(above for above in path if above[0] < level), (level, _title(heading[2]))]
    close()
    return listed


def _title(heading: str) -> str:
    """Return a heading without the marks that close it, unless it is nothing else."""
    return heading.rstrip().rstrip("#").rstrip() or heading.rstrip()


def _without_marked(text: str) -> str:
    """Return a document without the parts between two comments of a program, looking at each comment once."""
    kept: list[str] = []
    done, opened, at = 0, -1, text.find("<!--")
    while at >= 0 and (end := text.find("-->", at + 4)) >= 0:
        comment, end = text[at + 4 : end], end + 3
        if _END.match(comment):
            if opened >= 0:
                kept.append(text[done:opened])
                done, opened = end, -1
        elif opened < 0 and _BEGIN.match(comment):
            opened = at
        at = text.find("<!--", end)
    return "".join((*kept, text[done:]))


_LEAST_CHARS = 20
_SHORT_SHOWN, _SHORT_SHOWN_CHARS = 3, 80
# What Claude Code's memory files call their kinds, in this memory's words.
_KINDS = {"user": "preference", "feedback": "preference", "project": "discovery", "reference": "note"}
_MOST_LINE_BYTES = 4 * 1024 * 1024
_MOST_PROMPT_CHARS = 50_000
_INDEX, _FOLDER = "memory.md", "memory"
_INSTRUCTIONS = ("claude.md", "agents.md", "claude.local.md", "gemini.md", "qwen.md")


def read_memory_folder(source: Source) -> None:
    """Read Claude Code's own memory: ``~/.claude/projects/<project>/memory/*.md``, or one such folder."""
    for path in source.files(".md"):
        if source.path.is_dir() and _FOLDER not in (source.path.name, *path.relative_to(source.path).parts[:-1]):
            continue
        text = source.markdown(path)
        if text is None:
            continue
        about, body = front_matter(text)
        if path.name.lower() == _INDEX and _only_links(body):
            continue
        title = about.get("description") or about.get("name") or _title_of(body) or path.stem
        project = _project_of_folder(source, path.parent.parent)
        source.observation(
            *source.standing(path, project),
            title=title,
            content=body.strip(),
            type=_KINDS.get(about.get("type", "").lower(), "note"),
            project=project,
            updated_at=changed_at(path),
        )


def read_instructions(source: Source) -> None:
    """Read the sections of ``CLAUDE.md``, ``AGENTS.md`` and the like, without what engram wrote into them.

    Of a folder's files those are left out that git ignores and that the project ships: see ``_is_shipped``.
    """
    others: list[str] = []
    ignored = _IgnoredFiles(source.path)
    for path in source.files(".md"):
        if path != source.path and path.name.lower() not in _INSTRUCTIONS:
            continue
        text = source.markdown(path)
        listed = sections(text) if text is not None else []
        relative = source.relative(path)
        if path != source.path and (ignored.has(path) or _is_shipped(relative, listed)):
            others.append(relative)
            continue
        _read_sections(source, path, listed)
    _say_others(source, others)


def _read_sections(source: Source, path: Path, listed: list[DocumentSection]) -> None:
    project = source.place(str(path.absolute().parent))
    seen: Counter[str] = Counter()
    short: list[str] = []
    for section in listed:
        heading = " / ".join(section.headings)
        seen[heading] += 1
        if len(section.text) < _LEAST_CHARS:
            short.append(heading or "before the first heading")
            continue
        source.observation(
            *source.standing(path, project),
            heading,
            seen[heading],
            title=f"{path.name}: {heading}" if heading else path.name,
            content=section.text,
            type="policy",
            project=project,
            updated_at=changed_at(path),
        )
    _say_short(source, path, short)


# Folders in which a project keeps what it hands out, what its tests read, and the code of others.
_SHIPPED = regex(
    r"(?i)_*(?:templates?|fixtures?|test[-_]?data|vendor(?:ed|s)?|third[-_]?party|external|node_modules|site-packages"
    r"|bower_components|boilerplates?|scaffold(?:s|ing)?|skeletons?)_*"
)
_PLACEHOLDER = regex(r"\{\{[^{}\n]{1,80}\}\}|<%[^%\n]{1,80}%>")


def _is_shipped(relative: str, listed: list[DocumentSection]) -> bool:
    """Return whether a file is one that the project hands out or tests with, and no instruction for itself.

    It stands in a folder for such files, or its path or a heading has a placeholder.
    """
    headings = (heading for section in listed for heading in section.headings)
    in_folder = any(map(_SHIPPED.fullmatch, relative.split("/")[:-1]))
    return in_folder or any(map(_PLACEHOLDER.search, (relative, *headings)))


class _IgnoredFiles:
    """The files below a folder that git ignores, by the rules of each repository around them; git is asked once each.

    A folder that somebody names is read though it is ignored itself.
    """

    def __init__(self, root: Path) -> None:
        self._root = real_path(root)
        self._known: dict[Path, frozenset[Path]] = {}

    def has(self, path: Path) -> bool:
        real = real_path(path)
        folder = real.parent
        while (repository := find_repository(folder)) is not None:
            if not self._of(repository).isdisjoint((real, *real.parents)):
                return True
            folder = repository.root.parent
        return False

    def _of(self, repository: Repository) -> frozenset[Path]:
        root = repository.root
        if root not in self._known:
            wanted = ("--others", "--ignored", "--exclude-standard", "--directory")
            asked = None if repository.bare else ask_git(root, "ls-files", "-z", *wanted, deadline=Deadline())
            names = asked[0].split(b"\0") if asked else ()
            paths = (real_path(root) / os.fsdecode(name) for name in names if name)
            self._known[root] = frozenset(path for path in paths if path != self._root and self._root in path.parents)
        return self._known[root]


def _say_others(source: Source, files: list[str]) -> None:
    if files:
        shown, more = ", ".join(files[:_SHORT_SHOWN]), len(files) - _SHORT_SHOWN
        source.note(
            f"left out {amount(len(files), 'file')} that git ignores or that the project ships (templates, fixtures, "
            f"code of others): {shown}{f' and {more} more' if more > 0 else ''}; "
            "`engram import --from instructions FILE` reads one"
        )


def _say_short(source: Source, path: Path, headings: list[str]) -> None:
    if not headings:
        return
    named = "; ".join(heading[:_SHORT_SHOWN_CHARS] for heading in headings[:_SHORT_SHOWN])
    more = f" and {len(headings) - _SHORT_SHOWN} more" if len(headings) > _SHORT_SHOWN else ""
    source.note(
        f"{source.relative(path)}: left out {amount(len(headings), 'section')} shorter than {_LEAST_CHARS} characters"
        f" ({named}{more}); `engram save` keeps what you need of them"
    )


def read_basic_memory(source: Source) -> None:
    """Read basic-memory's notes: Markdown with a title, a type, a permalink and tags before it."""
    project = source.place(str(source.path.absolute()))
    for path in source.files(".md"):
        text = source.markdown(path)
        if text is None:
            continue
        about, body = front_matter(text)
        tags = about.get("tags", "")
        source.observation(
            *source.standing(source.path, project),
            about.get("permalink") or source.relative(path),
            title=about.get("title") or _title_of(body) or path.stem,
            content=joined([("", body), ("Tags", tags)]),
            type=about.get("type") or "note",
            project=project,
            created_at=moment(about.get("created") or None),
            updated_at=moment(about.get("modified") or about.get("updated") or None) or changed_at(path),
        )


def read_server_memory(source: Source) -> None:
    """Read the reference server-memory's graph: a line of JSON for each entity and each relation."""
    text = source.text(source.path)
    if text is None:
        raise InvalidSourceError(str(source.path), source.kind, "it cannot be read")
    entities: list[tuple[str, dict[str, Any]]] = []
    links: dict[str, list[str]] = {}
    for number, line in enumerate(lines_of(text), 1):
        if not line.strip():
            continue
        value = _object(line)
        kind = value.get("type") if value else None
        if value and kind == "entity" and isinstance(value.get("name"), str):
            entities.append((value["name"], value))
        elif value and kind == "relation":
            links.setdefault(str(value.get("from")), []).append(f"{value.get('relationType')} {value.get('to')}")
        else:
            source.note(f"line {number} was left out: neither an entity nor a relation")
    if not entities:
        raise source.foreign("there is no entity in it")
    project = source.place(str(source.path.absolute().parent))
    for name, value in entities:
        listed = value.get("observations")
        facts = [str(fact) for fact in listed] if isinstance(listed, list) else []
        label = str(value.get("entityType") or "")
        lines = [f"- {fact}" for fact in (*facts, *links.pop(name, ()))]
        source.observation(
            *source.standing(source.path, project),
            name,
            title=f"{name} ({label})" if label else name,
            content="\n".join(lines) or name,
            type="fact",
            project=project,
            updated_at=changed_at(source.path),
        )


def read_transcripts(source: Source) -> None:
    """Read ``~/.claude/projects/*/*.jsonl``, or one file: prompts and the items of Key Learnings sections.

    What else was said stays where it is. A line that is too long says nothing, and so does a last one that is being
    written. A fork begins with a copy of the session it left, which is usually the file that was written first.
    """
    known: set[tuple[str, str]] = set()
    for path in sorted(source.files(".jsonl"), key=lambda path: (changed_at(path) or "", path)):
        directory = directory_of(path)
        project = source.place(directory)
        session_id = path.stem[:100]
        try:
            said = _turns(source, path)
        except OSError as exc:
            source.leave_out(path, exc)
            continue
        turns = [turn for turn in said if turn.said_at is None or (turn.key, turn.content) not in known]
        known |= {(turn.key, turn.content) for turn in turns}
        for turn in turns:
            _take(source, turn, session_id, project)
        if path == source.path and not turns:
            raise source.foreign("no line of it is one of a transcript")
        if turns:
            source.session(session_id, project=project, directory=directory)


def _take(source: Source, turn: Turn, session_id: str, project: str | None) -> None:
    said_at = moment(turn.said_at)
    if turn.role == "user" and not turn.agent:
        text = turn.content[:_MOST_PROMPT_CHARS]
        if is_trivial(text):  # the hook keeps none of these either
            return
        source.prompt(session_id, turn.key, content=text, session_id=session_id, project=project, created_at=said_at)
    elif turn.role == "assistant":
        more = {"type": "passive", "session_id": session_id, "created_at": said_at, "updated_at": said_at}
        for number, learning in enumerate(parse_learnings(turn.content)):
            title, identity = learning_title(learning), (session_id, turn.key, number)
            source.observation(*identity, title=title, content=learning, project=project, **more)


def _turns(source: Source, path: Path) -> list[Turn]:
    """Return the turns of a transcript, none of a file with another shape; note the lines that are no JSON."""
    bad: list[str] = []

    def aside(line: tuple[int, bytes], why: str) -> None:
        if line[1].endswith(b"\n"):
            bad.append(str(line[0]))

    with open_regular(path) as file:
        read = readable(_whole_lines(file), lambda line: turns_of_line(line[1]), aside=aside)
        turns = [turn for _, some in read for turn in some]
    if bad:
        more = f" and {len(bad) - _SHORT_SHOWN} more" if len(bad) > _SHORT_SHOWN else ""
        source.note(f"{path}: {amount(len(bad), 'line')} cannot be read ({', '.join(bad[:_SHORT_SHOWN])}{more})")
    return turns


def _whole_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, but for those that are too long."""
    number, is_rest = 1, False
    while line := file.readline(_MOST_LINE_BYTES):
        is_whole = line.endswith(b"\n") or len(line) < _MOST_LINE_BYTES
        if is_whole and not is_rest:
            yield number, line
        number, is_rest = number + is_whole, not is_whole


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _only_links(body: str) -> bool:
    lines = [line.strip() for line in lines_of(body) if line.strip() and not line.startswith("#")]
    return all(line.startswith(("- [", "* [")) for line in lines)


def _title_of(body: str) -> str:
    """Return the heading over the whole of a document; where there are several of the highest level, all of them."""
    return ", ".join(dict.fromkeys(section.headings[0] for section in sections(body) if section.headings))


def _project_of_folder(source: Source, folder: Path) -> str | None:
    """Return the project of a folder of ``~/.claude/projects``: where its transcripts say they were made, else by its
    name, which is the path with a dash for everything else."""
    for transcript in sorted(folder.glob("*.jsonl"))[:3]:
        if directory := directory_of(transcript):
            return source.place(directory)
    return folder.name.rpartition("-")[2] or None


def directory_of(transcript: Path) -> str:
    """Return the working directory of a Claude Code session, from its first line that has one."""
    try:
        with open_regular(transcript) as lines:
            for _ in range(50):
                value = _object(lines.readline(1_000_000).decode("utf-8", "replace"))
                if value and isinstance(value.get("cwd"), str):
                    return str(value["cwd"])
    except OSError:
        return ""
    return ""


def read_claude_mem(source: Source) -> None:
    """Read claude-mem's ``~/.claude-mem/claude-mem.db``: observations, session summaries and prompts."""
    _read(source, {"observations", "session_summaries"}, _claude_mem)


def read_engram(source: Source) -> None:
    """Read the database of Engram itself, ``~/.engram/engram.db``, while it may be in use."""
    if (source.path / "manifest.json").is_file():
        raise source.foreign("it is a sync folder: `engram sync --import` reads it")
    with suppress(OSError), source.path.open("rb") as file:
        if file.read(1) == b"{":
            raise source.foreign("it is an export: `engram import FILE` reads it")
    _read(source, {"sessions", "observations", "user_prompts"}, _engram)


def _read(source: Source, needed: set[str], take: Callable[[Source, ForeignDatabase], None]) -> None:
    try:
        with open_foreign(source.path) as db:
            missing = needed - db.tables()
            if missing:
                raise source.foreign(f"it has no table {', '.join(sorted(missing))}")
            take(source, db)
    except (sqlite3.Error, OSError) as exc:
        foreign = getattr(exc, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB
        raise InvalidSourceError(str(source.path), source.kind, str(exc), foreign=foreign) from exc


def _claude_mem(source: Source, db: ForeignDatabase) -> None:
    projects = {}
    for row in db.rows("sdk_sessions"):
        ours = text_of(row.get("content_session_id") or row.get("claude_session_id"))
        if ours:
            projects[ours] = text_of(row.get("project")) or None
            started = _when(row, "started_at")
            source.session(ours, project=projects[ours], started_at=started, ended_at=moment(row.get("completed_at")))
    for row in db.rows("observations"):
        _claude_mem_observation(source, row)
    for row in db.rows("session_summaries"):
        names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
        parts = [(name.replace("_", " ").capitalize(), text_of(row.get(name))) for name in names]
        _keep(source, row, "summary", title=text_of(row.get("request")), content=joined(parts), type="session_summary")
    for row in db.rows("user_prompts"):
        session_id = text_of(row.get("content_session_id") or row.get("claude_session_id"))
        content, said_at = text_of(row.get("prompt_text")), _when(row, "created_at")
        more = {"session_id": session_id, "project": projects.get(session_id), "created_at": said_at}
        source.prompt(session_id, row.get("id"), content=content, **more)


def _claude_mem_observation(source: Source, row: dict[str, Any]) -> None:
    facts = "\n".join(f"- {fact}" for fact in _list(row.get("facts")))
    where = ", ".join(dict.fromkeys((*_list(row.get("files_modified")), *_list(row.get("files_read")))))
    body = text_of(row.get("narrative") or row.get("text"))
    parts = [("", text_of(row.get("subtitle"))), ("", body), ("", facts), ("Where", where)]
    parts.append(("Concepts", ", ".join(_list(row.get("concepts")))))
    _keep(source, row, "observation", title=text_of(row.get("title")), content=joined(parts), type=row.get("type"))


def _keep(source: Source, row: dict[str, Any], part: str, *, title: str, content: str, type: object) -> None:
    said_at, project = _when(row, "created_at"), text_of(row.get("project")) or None
    session_id = text_of(row.get("memory_session_id") or row.get("sdk_session_id")) or None
    more = {"type": text_of(type) or "manual", "session_id": session_id, "created_at": said_at, "updated_at": said_at}
    source.observation(part, row.get("id"), said_at, title=title, content=content, project=project, **more)


def _when(row: dict[str, Any], name: str) -> str | None:
    return moment(row.get(f"{name}_epoch")) or moment(row.get(name))


def _list(value: object) -> list[str]:
    """Return a list that is stored as JSON text."""
    try:
        listed = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return []
    return [text_of(item) for item in listed if item] if isinstance(listed, list) else []


def _engram(source: Source, db: ForeignDatabase) -> None:
    source.identified = True
    reader = _Engram(source, db)
    source.sessions = {session.id: session for session in reader.rows("sessions", SessionIn)}
    source.observations = reader.rows("observations", ObservationIn)
    source.prompts = reader.rows("prompts", PromptIn, table="user_prompts")
    source.relations = reader.relations()
    source.versions = reader.versions()
    source.prompt_tombstones = reader.rows("tombstones", PromptTombstoneIn, table="prompt_tombstones")
    source.tombstones = reader.destroyed()
    if source.project:
        rows: list[Any] = [*source.sessions.values(), *source.observations, *source.prompts]
        for changed in (*rows, *source.prompt_tombstones, *source.tombstones):
            changed.project = source.project


_Model = TypeVar("_Model", bound=BaseModel)


class _Engram:
    """Reads the tables of Engram's file. A row that is invalid is counted with its reason."""

    def __init__(self, source: Source, db: ForeignDatabase) -> None:
        self._source = source
        self._db = db

    def rows(self, kind: str, model: type[_Model], *, table: str | None = None) -> list[_Model]:
        return [record for row in self._db.rows(table or kind) if (record := self._valid(kind, model, row))]

    def relations(self) -> list[RelationIn]:
        rows = list(self._db.rows("memory_relations"))
        names = {row["id"]: row["sync_id"] for row in rows}
        for row in rows:
            row["superseded_by_relation_sync_id"] = names.get(row.get("superseded_by_relation_id"))
        return [relation for row in rows if (relation := self._valid("relations", RelationIn, row))]

    def versions(self) -> list[OwnVersion]:
        """Return the older texts, each named by its observation as the import names that one."""
        names = {observation.id: sync_id_of(observation) for observation in self._source.observations}
        versions = []
        for row in self._db.rows("observation_versions"):
            row["sync_id"] = names.get(row["observation_id"])
            if row["sync_id"] is None:
                self._source.left_out["versions", "their memory is not in the file"] += 1
            elif (version := self._valid("versions", OwnVersion, row)) is not None:
                versions.append(version)
        return versions

    def destroyed(self) -> list[OwnTombstone]:
        """Return the tombstones of what was deleted for good."""
        rows = self._db.rows("sync_delete_tombstones")
        rows = (row for row in rows if row.get("hard_delete") and row.get("active", 1))
        return [tombstone for row in rows if (tombstone := self._valid("tombstones", OwnTombstone, row))]

    def _valid(self, kind: str, model: type[_Model], row: dict[str, Any]) -> _Model | None:
        # What a column does not say is what the model says of it; but a review date that is none is said.
        values = {name: value for name, value in row.items() if value is not None or name == "review_after"}
        try:
            return model.model_validate(values)
        except ValidationError as exc:
            self._source.left_out[kind, first_problem(exc)] += 1
            return None
