"""Import the memories of other programs, each row labelled with its origin, none of them twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from engram_py.capture.host_formats import typed
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import EngramError, InvalidArgumentError
from engram_py.interchange.columns import nearest_project, session_key, without_nul
from engram_py.interchange.values import Imported, InvalidSourceError, Progress
from engram_py.observations import table
from engram_py.observations.validation import clean_content
from engram_py.projects.identities import Identities
from engram_py.projects.names import normalize_project
from engram_py.sessions import table as session_table
from engram_py.text.normalize import content_hash

if TYPE_CHECKING:
    from engram_py.interchange.source_draft import Source
    from engram_py.interchange.values import ObservationIn, PromptIn


# kind → where its program keeps it, below the home directory, and the function that reads it
KINDS = {
    "claude-memory": (".claude/projects", "source_files.read_memory_folder"),
    "claude-transcripts": (".claude/projects", "source_files.read_transcripts"),
    "instructions": ("", "source_files.read_instructions"),
    "claude-mem": (".claude-mem/claude-mem.db", "source_databases.read_claude_mem"),
    "server-memory": ("", "source_files.read_server_memory"),
    "basic-memory": ("basic-memory", "source_files.read_basic_memory"),
    "engram": (".engram/engram.db", "source_databases.read_engram"),
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
        from engram_py.database.compaction import IMPORT_SHARE, compacted
        from engram_py.interchange.import_rows import run_import

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
    from engram_py.interchange.source_draft import Source

    if kind not in KINDS:
        raise InvalidArgumentError("from", kind, expected=f"one of {', '.join(KINDS)}")
    if not path.exists():
        raise InvalidSourceError(str(path), kind, "it is not there")
    if not (path.is_file() or path.is_dir()):
        raise InvalidSourceError(str(path), kind, "it is neither a file nor a folder")
    source = Source(kind, path, project)
    module, _, name = KINDS[kind][1].partition(".")
    getattr(import_module(f"engram_py.interchange.{module}"), name)(source)
    return source
