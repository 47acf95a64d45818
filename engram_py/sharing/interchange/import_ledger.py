"""The state of one import: its counts and warnings, and what the replica is handed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from engram_py.base.database.mutation_queue import TABLES
from engram_py.base.database.store import Row
from engram_py.base.reasons import Told, sentence
from engram_py.memory.observations.validation import clean_content, cut_note
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Identities
from engram_py.memory.projects.values import InvalidProjectError, normalize_project
from engram_py.memory.sessions.table import MADE_UP
from engram_py.sharing.interchange.results import Counts
from engram_py.sharing.sync.mutation import OWN_BLOCK, UNCHECKED, Mutation
from engram_py.sharing.sync.replica.apply import apply_mutation
from engram_py.sharing.sync.replica.columns import made_session, moment_of, nearest_project, session_key, without_nul
from engram_py.sharing.sync.replica.parse import ParsedRow

if TYPE_CHECKING:
    from engram_py.sharing.interchange.values import ExportIn
    from engram_py.sharing.sync.replica.batch import Batch
    from engram_py.sharing.sync.replica.models import OwnTombstone, PromptTombstoneIn

HERE_ALREADY = "already here, the same or newer"
DESTROYED = "destroyed, here or where it comes from"
_MOST_WARNINGS = 20
_SHOWN_CHARS = 80

_FOLDED = """
select folded.topic_key, holder.id as holder, folded.id
from observations as folded join observations as holder on holder.sync_id = folded.folded_into
where folded.sync_id in (select value from json_each(:keys)) or holder.sync_id in (select value from json_each(:keys))
order by folded.id
"""


class ImportLedger:
    """The state shared by the parts of one import, inside its transaction."""

    def __init__(self, batch: Batch, document: ExportIn) -> None:
        self.batch = batch
        self.store = batch.store
        self.document = document
        self.own = document.engram_py
        self.counts = {
            "sessions": Counts(len(document.sessions)),
            "observations": Counts(len(document.observations)),
            "prompts": Counts(len(document.prompts)),
            "relations": Counts(len(document.relations) + len(document.engram_py.edges)),
            "versions": Counts(len(self.own.versions)),
            "tombstones": Counts(len(document.prompt_tombstones) + len(self.own.tombstones)),
        }
        for (kind, reason), rows in document.left_out.items():
            if (counts := self.counts.get("relations" if kind == "edges" else kind)) is not None:
                counts.read += rows
                counts.reject(reason, rows=rows)
        batch.offered["observations"] = [row.id for row in document.observations]
        batch.offered["user_prompts"] = [row.id for row in document.prompts]
        self.redacted = 0
        self._identities = Identities(batch.store, batch.journal)
        self._projects: dict[str | None, str] = {}
        self._made: set[str] = set()
        self._taken: list[str] = []
        self._warnings: list[Told] = []
        self._unsaid = 0
        self._buried = {(row[0], row[1]) for row in self.store.rows("select entity, entity_key from tombstones")}

    @cached_property
    def clock(self) -> str:
        """The clock of everything this import writes. An import that changes nothing takes none."""
        return self.batch.journal.stamp()

    @property
    def now(self) -> str:
        return self.batch.now

    @property
    def warnings(self) -> tuple[Told, ...]:
        more = (f"and {self._unsaid} more",) if self._unsaid else ()
        return (*self._warnings, *more)

    def warn(self, text: Told) -> None:
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(text)
        else:
            self._unsaid += 1

    def buried(self, entity: str, key: str) -> bool:
        """Return whether this was hard-deleted here, or in the memory that was exported: it does not come back."""
        return (entity, key) in self._buried

    def bury(self, entity: str, key: str, stone: PromptTombstoneIn | OwnTombstone) -> None:
        """Keep a tombstone, and tell other machines of it."""
        self._buried.add((entity, key))
        project, payload = stone.project or "", {"session_id": stone.session_id}
        mutation = Mutation(entity, key, "delete", project, payload, self.clock)
        self.batch.add_tombstone(mutation, deleted_at=moment_of(stone.deleted_at) or self.now, final=True)
        self.batch.queue(entity, key, "delete", project=project, clock=self.clock)

    def here(self, entity: str, key: str) -> Row | None:
        table, column = TABLES[entity]
        return self.store.row(f"select * from {table} where {column} = :key", key=key)

    def take(self, entity: str, key: str, read: Any, *, is_new: bool = True, of: str = "") -> None:
        """Apply a row and count the result. ``of`` is the key of its author in the file, where that is another one."""
        counts, claim = self.counts[f"{entity}s"], self.own.unchecked.get(entity, {}).get(of or key, "")
        payload = {OWN_BLOCK: {UNCHECKED: claim}} if claim else {}
        if not self.apply(entity, key, read, payload=payload):
            counts.skip(HERE_ALREADY)
        elif is_new:
            counts.new += 1
        else:
            counts.newer += 1

    def apply(self, entity: str, key: str, read: Any, *, payload: dict[str, Any], project: str = "") -> bool:
        """Apply a row as one that changed now; return whether anything changed."""
        mutation = Mutation(entity, key, "upsert", project, payload, self.clock)
        if entity == "observation":
            self._taken.append(key)
        return bool(apply_mutation(self.batch, mutation, read))

    def warn_of_folded_topics(self) -> None:
        """Warn of each topic that a row of the file shares with another row."""
        for topic, holder, row_id in self.store.tuples(_FOLDED, keys=self._taken):
            self.warn(f"topic {topic}: [#{holder}] holds it; the text of [#{row_id}] is a version of it now")

    def clean(self, text: str | None) -> str | None:
        """Return a text without its secrets, None for an empty one."""
        text = without_nul(text)
        if not text.strip():
            return None
        cleaned, truncation, redacted = clean_content(text)
        self.redacted += redacted
        if truncation is not None:
            self.warn(sentence(f"{cleaned[:_SHOWN_CHARS]!r}: ", cut_note(truncation)))
        return cleaned

    def project(self, name: str | None) -> str:
        """Return the project a row belongs to, made when it is new."""
        if name not in self._projects:
            self._projects[name] = self._resolved(name)
        return self._projects[name]

    def _resolved(self, name: str | None) -> str:
        try:
            project = self._identities.canonical(normalize_project(name or "unknown"))
        except InvalidProjectError:
            project = self._identities.canonical(nearest_project(name))
            self.warn(f"{(name or '')[:_SHOWN_CHARS]!r} is not a project name; its rows went to {project}")
        if not project_table.exists(self.store, project):
            self._identities.create(project)
        return project

    def session(self, session_id: str | None, project: str) -> str:
        """Return the session a row belongs to: one of this import where its own was deleted or has no name."""
        wanted = session_key(session_id)
        if wanted and not self.buried("session", wanted):
            return wanted
        made = made_session(project)
        if made not in self._made:
            self._made.add(made)
            if self.here("session", made) is None:
                columns = {"directory": MADE_UP, "started_at": self.now, "updated_at": self.now}
                self.apply("session", made, ParsedRow(project, columns), payload={})
        return made
