"""Export the memory as Engram's JSON (0.1.0, 0.2.0), and import such files."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TextIO

from engram_py.base.database.mutation_queue import TABLES
from engram_py.base.database.store import Row
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.files import open_regular, write_atomically
from engram_py.base.times import to_engram
from engram_py.memory.anchors import table as anchor_table
from engram_py.memory.observations.table import (
    COUNTED_HERE,
    ENGRAM,
    EXACT,
    OWN_COLUMNS,
    OWN_SOMETIMES,
    SOMETIMES,
    SPECIAL,
    TIMES,
)
from engram_py.memory.privacy.provenance import IMPORT, author
from engram_py.memory.privacy.signatures import Keyring
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions.table import MADE_UP
from engram_py.sharing.interchange.results import SIGNATURE, Exported, Imported, Progress, signed_export

if TYPE_CHECKING:
    from engram_py.sharing.interchange.values import ExportIn

ExportVersion = Literal["0.1.0", "0.2.0"]

_IN_PROJECT = "(:projects is null or project in (select value from json_each(:projects)))"

_OWN_OBSERVATION = (*SPECIAL, *OWN_COLUMNS, *COUNTED_HERE, *EXACT, "clock")
_RELATION = (
    "id", "sync_id", "source_id", "target_id", "relation", "reason", "evidence", "confidence", "judgment_status",
    "marked_by_actor", "marked_by_kind", "marked_by_model", "session_id", "superseded_at",
    "superseded_by_relation_sync_id", "created_at", "updated_at",
)  # fmt: skip
_TIMES = TIMES | {"started_at", "ended_at", "superseded_at"}

_RELATIONS = f"""
select memory_relations.*, replacing.sync_id as superseded_by_relation_sync_id
from memory_relations
left join memory_relations as replacing on replacing.id = memory_relations.superseded_by_relation_id
where {_IN_PROJECT.replace("project in", "memory_relations.project in")} and memory_relations.relation <> 'duplicates'
order by memory_relations.id
"""

_ADOPT = """
update {table} set arrival = null
where {key} in (select value from json_each(:keys)) and arrival in (select id from arrivals where source = :source)
"""
_ARRIVING = {entity: TABLES[entity] for entity in ("observation", "session", "prompt", "relation")}


class Transfer:
    """Exports and imports Engram's JSON."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._keys = Keyring(core.store.path.parent)

    def export(
        self,
        target: Path | TextIO,
        *,
        project: str | None = None,
        version: ExportVersion = "0.2.0",
        plain: bool = False,
    ) -> Exported:
        """Write an export; a file appears whole or not at all, readable by its owner alone.

        ``0.1.0`` has no pins and no relations; ``0.2.0`` has, and our own columns in a block Engram ignores. That of an
        encrypted memory is sealed with its key, unless ``plain``.

        Raises:
            UnknownProjectError: nothing was ever kept for ``project``.
            InvalidArgumentError: ``target`` cannot be written, or is a stream that everybody could read.
        """
        key = b"" if plain else self._store.key
        if key and not isinstance(target, Path):
            said = "an encrypted memory is not written to standard output"
            step = "give a file (`engram export memory.json`), or add --plain for readable text"
            raise InvalidArgumentError("file", said=said, step=step)
        document = self.document(project=project, version=version)
        if "engram_py" in document:
            document["engram_py"][SIGNATURE] = self._keys.person.sign(signed_export(document))
        written = _write_whole(target, document, key) if isinstance(target, Path) else _write(target, document)
        return Exported(
            path=str(target) if isinstance(target, Path) else "-",
            version=version,
            bytes=written,
            sessions=len(document["sessions"]),
            observations=len(document["observations"]),
            prompts=len(document["prompts"]),
            relations=len(document.get("relations", ())),
        )

    def import_file(
        self, source: Path | BinaryIO, *, trusted: bool = False, progress: Progress | None = None
    ) -> Imported:
        """Import a file or an open stream; ``progress(done, total)`` is called now and then.

        Importing twice changes nothing the second time. Its memories are the user's own where the user's key signed it
        or the user says so (``trusted``); else they are kept as unchecked.

        Raises InvalidExportError: not JSON, another version, wrong types. Nothing is imported then.
        """
        # Imported here: no other command needs them.
        from engram_py.base.database.compaction import IMPORT_SHARE, compacted
        from engram_py.sharing.interchange.import_rows import run_import
        from engram_py.sharing.interchange.values import name_of, read_export

        document = read_export(self._unsealed(source))
        trusted = trusted or (bool(document.signed_by) and document.signed_by in self._keys.own)
        started = time.monotonic()
        with self._store.transaction():
            name = source.name if isinstance(source, Path) else ""
            ledger = run_import(self._store, self._journal, document, progress, name=name, trusted=trusted)
            if trusted:
                self._adopt(document)
        compacted(self._store, seconds=IMPORT_SHARE * (time.monotonic() - started))
        version, notes = document.version or "0.1.0", ledger.warnings
        counts: dict[str, Any] = ledger.counts
        return Imported(name_of(source), version, **counts, redacted=ledger.redacted, warnings=notes, trusted=trusted)

    def _adopt(self, document: ExportIn) -> None:
        """Make rows of an export the user's own that an earlier import left unchecked. Call inside a transaction."""
        rows: dict[str, Sequence[object]] = {
            "session": document.sessions,
            "observation": document.observations,
            "prompt": document.prompts,
            "relation": document.relations,
        }
        for entity, read in rows.items():
            table, key = TABLES[entity]
            unchecked = document.engram_py.unchecked.get(entity, {})
            keys = [found for row in read if (found := getattr(row, key)) and found not in unchecked]
            self._store.execute(_ADOPT.format(table=table, key=key), keys=keys, source=IMPORT)

    def _unsealed(self, source: Path | BinaryIO) -> Path | BinaryIO:
        """Return an export that can be read. Raises StoreKeyError: it is sealed with another key than this memory's."""
        from engram_py.base.database.keys import MARK, unseal

        with contextlib.suppress(OSError):  # the reader says what is wrong with it
            if isinstance(source, Path) and (data := _sealed_in(source, MARK)):
                return BytesIO(unseal(self._store.path.parent, data, self._store.key))
        return source

    def document(self, *, project: str | None = None, version: ExportVersion = "0.2.0") -> dict[str, Any]:
        """Return the export as JSON-ready values."""
        reads = self._reads(project) if project else None
        with self._store.transaction():  # one consistent moment
            observations = self._rows_of("observations", reads)
            prompts = self._rows_of("user_prompts", reads)
            sessions = self._rows_of("sessions", reads)
            relations, edges = self._relations(reads)
            document: dict[str, Any] = {
                "version": version,
                "exported_at": self._journal.now(),
                "sessions": [
                    *(_session(row, version) for row in sessions),
                    *_stand_ins(sessions, observations, prompts),
                ],
                "observations": [_observation(row, version) for row in observations],
                "prompts": [_prompt(row, version) for row in prompts],
            }
            if version == "0.2.0":
                ends = {row["sync_id"] for row in observations}
                document["relations"] = [_relation(row, ends) for row in relations]
                sql = f"""
                select entity_key as sync_id, session_id, project, deleted_at
                from tombstones where entity = 'prompt' and {_IN_PROJECT} order by entity_key
                """
                document["prompt_tombstones"] = [
                    _pick(row, row.keys()) for row in self._store.rows(sql, projects=reads)
                ]
                document["engram_py"] = self._own_block(observations, sessions, reads) | {
                    "relations": {row["sync_id"]: {"judgment_status": row["judgment_status"]} for row in relations},
                    "edges": [_pick(row, (*_RELATION, "project")) for row in edges],
                }
        return document

    def _reads(self, project: str) -> tuple[str, ...] | None:
        place = self._projects.for_read(project)
        self._projects.existing(place.project)
        return place.reads

    def _rows_of(self, name: str, reads: tuple[str, ...] | None) -> list[Row]:
        order = "started_at, id" if name == "sessions" else "id"
        return self._store.rows(f"select * from {name} where {_IN_PROJECT} order by {order}", projects=reads)

    def _relations(self, reads: tuple[str, ...] | None) -> tuple[list[Row], list[Row]]:
        """Return the relations between observations, and those with an entity for an end, which Engram would defer."""
        ends: tuple[list[Row], list[Row]] = ([], [])
        for row in self._store.rows(_RELATIONS, projects=reads):
            ends[any(row[end].startswith("entity:") for end in ("source_id", "target_id"))].append(row)
        return ends

    def _own_block(self, observations: list[Row], sessions: list[Row], reads: tuple[str, ...] | None) -> dict[str, Any]:
        versions = self._store.rows(
            f"""
            select observations.sync_id, v.version, v.title, v.content, v.created_at, v.clock
            from observation_versions as v join observations on observations.id = v.observation_id
            where {_IN_PROJECT.replace("project in", "observations.project in")}
            order by observations.id, v.version
            """,
            projects=reads,
        )
        tombstones = self._store.rows(
            f"select * from tombstones where entity <> 'prompt' and {_IN_PROJECT} order by entity, entity_key",
            projects=reads,
        )
        aliases = self._store.rows(f"select alias, project from project_aliases where {_IN_PROJECT}", projects=reads)
        return {
            "format": 1,
            "device": self._journal.device(),
            "observations": {row["sync_id"]: _own_observation(row) for row in observations},
            "sessions": {
                row["id"]: {name: row[name] for name in ("agent", "started_at", "ended_at", "updated_at", "clock")}
                for row in sessions
            },
            "versions": [dict(row) for row in versions],
            "anchors": anchor_table.exported(self._store, reads),
            "aliases": {row["alias"]: row["project"] for row in aliases},
            "tombstones": [dict(row) for row in tombstones],
            "unchecked": self._unchecked(reads),
        }

    def _unchecked(self, reads: tuple[str, ...] | None) -> dict[str, dict[str, str]]:
        """Return the authors of the rows that are not the user's own, by kind and key."""
        authors: dict[str, dict[str, str]] = {}
        for entity, (name, key) in _ARRIVING.items():
            sql = f"""
            select {key}, {author(name)} from {name} where arrival is not null and {_IN_PROJECT}
            """
            authors[entity] = dict(self._store.tuples(sql, projects=reads))
        versions = f"""
        select observations.sync_id, {author("v")} from observation_versions as v
        join observations on observations.id = v.observation_id
        where v.arrival is not null
          and {_IN_PROJECT.replace("project in", "observations.project in")}
        """
        authors["version"] = dict(self._store.tuples(versions, projects=reads))
        return authors


def _sealed_in(file: Path, mark: bytes) -> bytes:
    with open_regular(file) as opened:
        head = opened.read(len(mark))
        return head + opened.read() if head == mark else b""


def _pick(row: Row, names: Iterable[str]) -> dict[str, Any]:
    return {name: to_engram(row[name]) if name in _TIMES else row[name] for name in names}


def _session(row: Row, version: str) -> dict[str, Any]:
    names = ("id", "project", "directory", "started_at", "ended_at", "summary")
    return _pick(row, names if version == "0.1.0" else (*names, "ownership_mode"))


def _stand_ins(sessions: list[Row], *children: list[Row]) -> Iterator[dict[str, Any]]:
    """Yield sessions of other projects that rows of this file belong to: Engram refuses a file that lacks one."""
    there = {row["id"] for row in sessions}
    wanted = {row["session_id"]: row["project"] for rows in children for row in rows if row["session_id"] not in there}
    for session_id, project in sorted(wanted.items()):
        names = {"id": session_id, "project": project, "directory": MADE_UP}
        yield names | {"started_at": "1970-01-01 00:00:00", "ended_at": None, "summary": None}


def _relation(row: Row, ends: set[str]) -> dict[str, Any]:
    """Return a relation. Engram refuses a file with one whose ends are not both in it, unless it is orphaned."""
    values = _pick(row, _RELATION)
    whole = row["source_id"] in ends and row["target_id"] in ends
    return values if whole else values | {"judgment_status": "orphaned"}


def _own_observation(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in (*_OWN_OBSERVATION, *OWN_SOMETIMES) if name not in OWN_SOMETIMES or row[name]}


def _observation(row: Row, version: str) -> dict[str, Any]:
    values = _pick(row, ("id", *ENGRAM, *(name for name in SOMETIMES if row[name] is not None)))
    if version != "0.1.0":
        values |= {"pinned": bool(row["pinned"]), "review_after": to_engram(row["review_after"])}
    return values


def _prompt(row: Row, version: str) -> dict[str, Any]:
    values = _pick(row, ("id", "sync_id", "session_id", "content", "project", "created_at"))
    return values if version == "0.1.0" else values | {"source_inbox_id": None}


def _write_whole(target: Path, document: dict[str, Any], key: bytes) -> int:
    """Put the file at ``target`` whole, readable by its owner alone; the number of bytes."""
    data = "".join((*_pieces(document, depth=1), "\n")).encode()
    if key:
        from engram_py.base.database.keys import public_half, sealed

        data = sealed(data, bytes.fromhex(public_half(key)))
    try:
        write_atomically(target, data, prefix=f".{target.name[:100]}.")
    except OSError as exc:
        expected = f"in a folder that exists and can be written ({exc.strerror or str(exc)})"
        raise InvalidArgumentError("the file to write", str(target), expected=expected) from exc
    return len(data)


def _write(target: TextIO, document: dict[str, Any]) -> int:
    written = 0
    for piece in _pieces(document, depth=1):
        target.write(piece)
        written += len(piece.encode())
    target.write("\n")
    return written + 1


def _pieces(value: object, depth: int) -> Iterator[str]:
    """Yield JSON with one row on a line. ``json`` indents in Python, five times slower than it writes a row in C."""
    if not value or depth < 0 or not isinstance(value, dict | list):
        yield json.dumps(value, ensure_ascii=False)
        return
    named = isinstance(value, dict)
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    before = "{\n" if named else "[\n"
    for key, item in items:
        yield before
        if named:
            yield f"{json.dumps(key, ensure_ascii=False)}: "
        # Our own block holds tables of its own, one level further down.
        yield from _pieces(item, depth + (key == "engram_py") - 1)
        before = ",\n"
    yield "\n}" if named else "\n]"
