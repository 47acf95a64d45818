"""Import the memories of other programs, each row labelled with its origin, none of them twice: an identity is the
same at the next reading.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path, PureWindowsPath
from typing import Any, TypeVar

from engram_py.base.capture.host_formats import typed
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.files import expanded, read_bounded, real_path, reason
from engram_py.base.text.normalize import content_hash
from engram_py.base.times import canonical, to_text
from engram_py.memory.observations import table
from engram_py.memory.observations.validation import clean_content
from engram_py.memory.projects.locate import Locator
from engram_py.memory.projects.projects import Identities
from engram_py.memory.projects.values import normalize_project, slug_project
from engram_py.memory.sessions import table as session_table
from engram_py.sharing.interchange.results import Imported, InvalidSourceError, Progress
from engram_py.sharing.interchange.values import ExportIn, OwnBlock
from engram_py.sharing.sync.replica.columns import derived_id, nearest_project, session_key, without_nul
from engram_py.sharing.sync.replica.models import (
    ObservationIn,
    OwnTombstone,
    OwnVersion,
    PromptIn,
    PromptTombstoneIn,
    RelationIn,
    SessionIn,
)

# kind → where its program keeps it, below the home directory, and the function that reads it
KINDS = {
    "claude-memory": (".claude/projects", "sources.read_memory_folder"),
    "claude-transcripts": (".claude/projects", "sources.read_transcripts"),
    "instructions": ("", "sources.read_instructions"),
    "claude-mem": (".claude-mem/claude-mem.db", "sources.read_claude_mem"),
    "server-memory": ("", "sources.read_server_memory"),
    "basic-memory": ("basic-memory", "sources.read_basic_memory"),
    "engram": (".engram/engram.db", "sources.read_engram"),
}


class _DryRunEnded(Exception):
    """Rolls a dry run back."""


class Importers:
    """Imports from other programs. A second run adds only what is new there."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._identities = Identities(store, journal)

    def adopt(
        self,
        kind: str,
        path: Path,
        *,
        project: str | None = None,
        dry_run: bool = False,
        trusted: bool = False,
        progress: Progress | None = None,
    ) -> Imported:
        """Import all of a source, or nothing. ``project`` files all of it there; otherwise each row says where it was.

        A text that a project has already is skipped, wherever it came from; a row of a memory that names its rows as
        this one does is known by its name alone. ``dry_run`` counts and writes nothing. ``trusted``: the user says that
        the memories are theirs; else they are kept as unchecked.

        Raises InvalidArgumentError, InvalidProjectError, InvalidSourceError.
        """
        from engram_py.base.database.compaction import IMPORT_SHARE, compacted
        from engram_py.sharing.interchange.import_rows import run_import

        source = _read(kind, path, normalize_project(project) if project else None)
        document = source.document()
        warnings = list(source.notes)
        started = time.monotonic()
        try:
            with self._store.transaction():
                dropped = (0, 0)
                if not source.identified:
                    dropped = (
                        _drop_known(document.observations, self._observation_key, self._has_observation),
                        _drop_known(document.prompts, self._prompt_key, self._has_prompt),
                    )
                ledger = run_import(self._store, self._journal, document, progress, name=path.name, trusted=trusted)
                if dry_run:
                    raise _DryRunEnded
        except _DryRunEnded:
            warnings.insert(0, "dry run: nothing was written")
        else:
            compacted(self._store, seconds=IMPORT_SHARE * (time.monotonic() - started))
        for name, rows in zip(("observations", "prompts"), dropped, strict=True):
            ledger.counts[name].read += rows
            ledger.counts[name].skip("the same text is here", rows=rows)
        return Imported(
            str(path),
            kind,
            **ledger.counts,
            redacted=ledger.redacted,
            warnings=(*warnings, *ledger.warnings),
            trusted=trusted,
        )

    def _observation_key(self, row: ObservationIn) -> tuple[str, str]:
        text = clean_content(without_nul(row.content))[0]
        return self._identities.canonical(nearest_project(row.project)), content_hash(text)

    def _has_observation(self, row: ObservationIn, key: tuple[str, str]) -> bool:
        return table.hash_exists(self._store, content_hash=key[1], project=key[0]) is not None

    def _prompt_key(self, row: PromptIn) -> tuple[str, str] | None:
        session_id = session_key(row.session_id)
        return (session_id, clean_content(typed(without_nul(row.content)))[0]) if session_id else None

    def _has_prompt(self, row: PromptIn, key: tuple[str, str]) -> bool:
        session_id, text = key
        session = session_table.by_id(self._store, session_id)
        named = self._identities.canonical(nearest_project(row.project))
        return any(
            session_table.equal_prompt(self._store, session_id=session_id, project=project, content=text)
            for project in {named, session.project if session else named}
        )


_Row = TypeVar("_Row", "ObservationIn", "PromptIn")


def _drop_known(
    rows: list[_Row], key_of: Callable[[_Row], tuple[str, str] | None], is_here: Callable[[_Row, tuple[str, str]], bool]
) -> int:
    """Take out the rows whose text is here or comes twice; return their number."""
    seen: set[tuple[str, str]] = set()
    fresh = []
    for row in rows:
        try:
            key = key_of(row)
            repeated = key is not None and (key in seen or is_here(row, key))
        except EngramError:  # the import says what is wrong with it
            key, repeated = None, False
        if key is not None:
            seen.add(key)
        if not repeated:
            fresh.append(row)
    dropped = len(rows) - len(fresh)
    rows[:] = fresh
    return dropped


def _read(kind: str, path: Path, project: str | None) -> Source:

    if kind not in KINDS:
        raise InvalidArgumentError("from", kind, expected=f"one of {', '.join(KINDS)}")
    if not path.exists():
        raise InvalidSourceError(str(path), kind, "it is not there")
    if not (path.is_file() or path.is_dir()):
        raise InvalidSourceError(str(path), kind, "it is neither a file nor a folder")
    source = Source(kind, path, project)
    module, _, name = KINDS[kind][1].partition(".")
    getattr(import_module(f"engram_py.sharing.interchange.{module}"), name)(source)
    return source


MOST_FILES = 10_000
MOST_FILE_BYTES = 4 * 1024 * 1024
_MOST_NOTES = 20
_TITLE_CHARS = 200


@dataclass
class Source:
    """A source while it is read. ``project`` is the user's choice for all of it; None lets each row decide."""

    kind: str
    path: Path
    project: str | None
    sessions: dict[str, SessionIn] = field(default_factory=dict)
    observations: list[ObservationIn] = field(default_factory=list)
    prompts: list[PromptIn] = field(default_factory=list)
    relations: list[RelationIn] = field(default_factory=list)
    prompt_tombstones: list[PromptTombstoneIn] = field(default_factory=list)
    versions: list[OwnVersion] = field(default_factory=list)
    tombstones: list[OwnTombstone] = field(default_factory=list)
    # Whether its rows came with the identities that this memory knows them by.
    identified: bool = False
    # Rows that could not be read, by kind and reason.
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _noted: int = 0
    _named: Counter[tuple[str, ...]] = field(default_factory=Counter)
    _locator: Locator = field(default_factory=Locator)

    def observation(self, *identity: object, title: str, content: str, project: str | None, **more: Any) -> None:
        """Keep a text. ``identity`` names it within this kind of source, whatever it says.

        Of two of one name, as of two notes with one permalink, the second is known by its number as well.
        """
        named = (self.kind, *map(str, identity))
        self._named[named] += 1
        number = (str(self._named[named]),) if self._named[named] > 1 else ()
        more |= {"sync_id": derived_id("obs", *named, *number), "tool_name": f"import:{self.kind}"}
        more |= {"title": " ".join(title.split())[:_TITLE_CHARS] or None, "project": self.project or project}
        self.observations.append(ObservationIn(content=content, **more))

    def prompt(self, *identity: object, project: str | None, **more: Any) -> None:
        sync_id = derived_id("prompt", self.kind, *map(str, identity))
        self.prompts.append(PromptIn(sync_id=sync_id, project=self.project or project, **more))

    def session(self, session_id: str, *, project: str | None, directory: str = "", **more: Any) -> None:
        if session_id not in self.sessions:
            named = self.project or project
            self.sessions[session_id] = SessionIn(id=session_id, project=named, directory=directory, **more)

    def document(self) -> ExportIn:
        """Return the rows as an export."""
        document = ExportIn(
            version="0.2.0",
            sessions=list(self.sessions.values()),
            observations=self.observations,
            prompts=self.prompts,
            relations=self.relations,
            prompt_tombstones=self.prompt_tombstones,
            engram_py=OwnBlock(versions=self.versions, tombstones=self.tombstones),
        )
        document.left_out.update(self.left_out)
        return document

    def note(self, text: str) -> None:
        """Say something of the import; of many notes the first are shown, and the others counted."""
        self._noted += 1
        self.notes[_MOST_NOTES:] = [f"and {self._noted - _MOST_NOTES} more"] if self._noted > _MOST_NOTES else [text]

    def place(self, directory: str) -> str | None:
        """Return the project of a directory somebody worked in; of one that is gone, by its name."""
        if not directory:
            return None
        path = expanded(directory)
        try:
            there = path.is_dir()
        except (OSError, ValueError):
            return None
        return self._locator.locate(path).name if there else slug_project(PureWindowsPath(directory).name)

    def files(self, *suffixes: str) -> Iterator[Path]:
        """Return the files with one of these endings, sorted; links out of the source are not followed."""
        if self.path.is_file():
            yield self.path
            return
        if not self.path.is_dir():
            raise InvalidSourceError(str(self.path), self.kind, "it is not there")
        count, root = 0, real_path(self.path)
        for folder, folders, names in os.walk(self.path, onerror=lambda exc: self.leave_out(exc.filename, exc)):
            folders[:] = sorted(name for name in folders if name not in (".git", "node_modules", ".venv"))
            for name in sorted(names):
                if name.lower().endswith(suffixes):
                    if not real_path(Path(folder) / name).is_relative_to(root):
                        self.note(f"{Path(folder) / name} was left out: it is a link out of {self.path}")
                        continue
                    count += 1
                    if count > MOST_FILES:
                        self.note(f"more than {MOST_FILES:,} files; the rest was not read")
                        return
                    yield Path(folder) / name

    def text(self, path: Path) -> str | None:
        """Return a file's text; what cannot be read is noted and left out."""
        try:
            return read_bounded(path, MOST_FILE_BYTES).decode("utf-8-sig", "replace")
        except OSError as exc:
            self.leave_out(path, exc)
            return None

    def leave_out(self, path: Path | str, exc: OSError) -> None:
        self.note(f"{path} was left out: {reason(exc)}")

    def markdown(self, path: Path) -> str | None:
        """Return the text of a Markdown file. Raises InvalidSourceError: the one that somebody named is none."""
        text = self.text(path)
        if text is not None and path == self.path and (found := _other_kind(text)):
            raise self.foreign(f"it is {found}")
        return text

    def foreign(self, why: str) -> InvalidSourceError:
        return InvalidSourceError(str(self.path), self.kind, why, foreign=True)

    def relative(self, path: Path) -> str:
        """Return a file's path within the source, for people to read."""
        return path.relative_to(self.path).as_posix() if path != self.path else path.name

    def standing(self, path: Path, project: str | None) -> tuple[str, ...]:
        """Return the beginning of an identity for a file or folder: its repository's name and its path there.

        Every working copy has these alike. Outside of a repository it is the path on this machine.
        """
        real = real_path(path)
        location = self._locator.locate(real.parent)
        repository = location.repository
        root = real_path(repository.root) if repository else None
        if root is None or location.name is None or not real.is_relative_to(root):
            return (self.project or project or "", real.as_posix())
        return (self.project or project or "", location.name, real.relative_to(root).as_posix())


def _other_kind(text: str) -> str:
    """Return what a text is that is no Markdown, "" where it may be."""
    if "\0" in text:
        return "no text"
    try:
        return "JSON" if text.lstrip()[:1] in ("{", "[") and json.loads(text) is not None else ""
    except (ValueError, RecursionError):
        return ""


def changed_at(path: Path) -> str | None:
    """Return when a file was last written, as the memory writes times."""
    try:
        return to_text(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except (OSError, ValueError, OverflowError):
        return None


def moment(value: object) -> str | None:
    """Return a time in another program's writing: text, seconds or milliseconds since 1970."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if abs(value) > 10**11 else value
        try:
            return to_text(datetime.fromtimestamp(seconds, UTC))
        except (ValueError, OverflowError, OSError):
            return None
    return canonical(str(value)[:40])


def text_of(value: object) -> str:
    """Return a value as text; nothing for what is none."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def joined(parts: Iterable[tuple[str, str]]) -> str:
    """Return labelled paragraphs, those without text left out."""
    return "\n\n".join(
        f"**{label}**: {text.strip()}" if label else text.strip() for label, text in parts if text.strip()
    )
