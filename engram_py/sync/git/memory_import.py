"""Take in the files of ``.engram/memories``: what others committed, and what a person changed by hand.

What a file says follows from its bytes and from git alone, so every clone comes to the same. A change that only a
branch has reaches no memory that is here before the default branch has it; a new memory of a branch is shown apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from engram_py.database.mutation_queue import Journal
from engram_py.database.store import Row
from engram_py.dataclass import dataclass, replace
from engram_py.observations import topics
from engram_py.privacy import provenance
from engram_py.relations import table as relations
from engram_py.sync.git import table
from engram_py.sync.git.memories import MemoryPlace
from engram_py.sync.git.memory_file import MemoryFile, MemoryFileError, after, blob, id_of, mutations, parse_named
from engram_py.sync.git.memory_folder import Commits, Listed
from engram_py.sync.git.table import ChunkRefusal, MemoriesRead, Noted
from engram_py.sync.mutation import OWN_BLOCK, AppliedBatch, Mutation
from engram_py.sync.replica.project_access import folder_rows
from engram_py.times import ZERO, dated, is_ahead, to_text

# The verdicts and the older texts that came with a memory of a branch.
_PROMOTED = (
    """update memory_relations set arrival = :arrival
    where source_id = :id and arrival in (select id from arrivals where source = :branch)""",
    """update observation_versions set arrival = :arrival
    where observation_id = (select id from observations where sync_id = :id)
      and arrival in (select id from arrivals where source = :branch)""",
)
_FORGET_BRANCH = """delete from arrivals where source = :branch
  and not exists (select 1 from observations where arrival = arrivals.id)
  and not exists (select 1 from observation_versions where arrival = arrivals.id)
  and not exists (select 1 from memory_relations where arrival = arrivals.id)
"""
_STEP = 50  # rows in one transaction, for which other writers wait


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file that was read: what it says, and how git has it. ``moment`` is when a person changed it, empty where a
    machine wrote it; ``own``: on this machine; ``reviewed``: the default branch has it."""

    file: MemoryFile
    noted: Noted
    clock: str
    moment: str
    author: str
    by_hand: bool
    own: bool
    reviewed: bool


class MemoryImport:
    """One import. A file is noted when its memory is stored: a crash in between reads it again."""

    def __init__(self, place: MemoryPlace, journal: Journal) -> None:
        self._place, self._journal = place, journal
        self._notes: dict[str, Noted] = {}
        self._batches: dict[tuple[str, str, bool], list[Mutation]] = {}  # by source, author, and whether it is our own
        self._clocks: dict[str, str] = {}  # by shared id: the clock that a memory has by its file
        self._unsaid: set[str] = set()  # files with a clock that only this machine knows: the export says it in them
        self._promoted: dict[str, str] = {}  # by shared id: the author of what the default branch has now
        self._forgotten: list[str] = []
        self._dropped: list[str] = []
        self._deleted: list[str] = []
        self._refused: list[ChunkRefusal] = []
        self._edited = 0
        self._more = False
        self._now = int(journal.moment().timestamp() * 1000)

    def run(self) -> MemoriesRead:
        """Read what is new or changed. Raises SyncFolderError."""
        place, looked = self._place, self._place.looked
        listing = place.folder.list()
        missing = [name for name in place.known if name not in listing] if place.folder.is_shared else []
        files = self._read(place.changed(listing), listing)
        here = place.states(
            [*(file.sync_id for file in files.values()), *(place.known[one].sync_id for one in missing)]
        )
        for name, file in files.items():
            seen = self._seen(file, self._notes[name], here.get(file.sync_id))
            if seen is not None:
                self._take(seen, here.get(file.sync_id))
        present = {note.sync_id for note in self._notes.values()}
        present |= {row.sync_id for name, row in place.known.items() if name in listing}
        for row in [place.known[name] for name in missing]:
            self._miss(row, here.get(row.sync_id), present)
        news = sum(self._is_news(note) for note in self._notes.values())
        applied = self._apply()
        self._more = self._more or not place.git.answers
        self._keep("" if self._more else looked)
        return MemoriesRead(
            files=news,
            edited=self._edited,
            applied=applied,
            deleted=tuple(self._deleted),
            branch=place.named("branch"),
            waiting=place.named("waits"),
            refused=tuple(self._refused),
            more=self._more,
        )

    # --- what a file says -----------------------------------------------------------------------------------

    def _read(self, names: Sequence[str], listing: Mapping[str, Listed]) -> dict[str, MemoryFile]:
        """Return what files say; of those whose bytes are as they were, the new time is noted and no more."""
        found: dict[str, MemoryFile] = {}
        job, total = self._place.job, 0
        for name in names:
            if job.is_late:
                self._more = True
                break
            row, about = self._place.known.get(name) or Noted(name), listing[name]
            note = row._replace(size=about.size, changed_ns=about.changed_ns, reason="")
            total += about.size
            try:
                if about.problem:
                    raise MemoryFileError(about.problem)
                if total > job.most:
                    raise MemoryFileError(f"this file would exceed the limit of {job.most // 2**20} MiB for one read")
                data = self._place.folder.read(name)
                self._notes[name] = note._replace(blob=blob(data))
                if row.blob == blob(data) and row.state == "here":
                    continue
                file = parse_named(data, name)
                if is_ahead(file.clock, now_milliseconds=self._now):
                    raise MemoryFileError(f"clock: {dated(file.clock)} is in the future; restore the line from git")
                found[name] = file
            except MemoryFileError as exc:
                self._refuse(note, str(exc))
        return found

    def _refuse(self, note: Noted, reason: str) -> None:
        self._refused.append(ChunkRefusal(note.name, reason))
        self._notes[note.name] = note._replace(state="refused", reason=reason[:300])

    def _seen(self, file: MemoryFile, note: Noted, here: Row | None) -> _Seen | None:
        """Return how git has a file; None where it waits, or git does not answer in time and it is read again."""
        git = self._place.git
        committed = git.head.get(note.name) == note.blob
        by_hand = file.edited and not committed
        if by_hand and any(note.blob in blobs for blobs in git.elsewhere.values()):
            # Another branch has it: no edit of this person's, however it came here.
            self._notes[note.name] = note._replace(sync_id=file.sync_id, state="waits")
            return None
        if by_hand and note.name not in self._place.known and (other := self._other_file(file.sync_id)):
            self._refuse(note, f"it has the id of {other}: without its id line, it is a new memory")
            return None
        last = git.commits.get(note.name) if committed else None
        reviewed = git.default is None or git.default.get(note.name) == note.blob
        passed = last is not None and here is not None and self._is_passed(file, note, last, here)
        changed = file.edited or passed
        if changed and committed and last is None:
            self._more = True
            del self._notes[note.name]
            return None
        clock, moment = file.clock, ""
        if by_hand:
            clock, moment = self._stamp()
        elif changed and last is not None:
            base = str(here["clock"]) if here is not None and passed else file.clock
            clock = after(base, milliseconds=last.milliseconds, steps=last.count, of=note.blob[:16])
            moment = _moment(last.milliseconds)
        # Who had the side of a conflict that was taken sees no change.
        self._unsaid |= {note.name} if passed else set()
        noted = note._replace(sync_id=file.sync_id, state="here")
        own = by_hand or (last is not None and last.here)
        return _Seen(file, noted, clock, moment, last.author if last else "", by_hand, own, reviewed)

    def _other_file(self, sync_id: str) -> str:
        """Return the name of the file that a memory has; empty where it has none, or it was renamed."""
        name = self._place.names_of({sync_id}).get(sync_id, "")
        return name if name and (self._place.folder.path / name).exists() else ""

    def _is_passed(self, file: MemoryFile, note: Noted, last: Commits, here: Row) -> bool:
        """Return whether git had what is here and says something else since: a revert, a side of a conflict that a
        person took, a deleted file that is back. Its clock is an older one."""
        row = self._place.known.get(note.name)
        if row is None or row.sync_id != here["sync_id"] or row.state not in ("here", "gone", "removed"):
            return False
        if here["deleted_at"]:  # who brought it back knew that it was deleted
            return bool(last.deletion) and self._place.git.is_before(last.deletion, last.ids[0])
        if file.clock >= here["clock"] or row.blob == note.blob or row.blob not in last.blobs:
            return False
        return self._is_unchanged(row)

    def _is_unchanged(self, row: Noted) -> bool:
        """Return whether a memory still makes the file that it made when its file was noted."""
        text = self._place.rendered([row.sync_id], {row.sync_id}).get(row.sync_id)
        return text is not None and blob(text) == row.render

    def _take(self, seen: _Seen, here: Row | None) -> None:
        """Note what a file is, and apply what is new in it."""
        sync_id, name, job = seen.file.sync_id, seen.noted.name, self._place.job
        if here is not None and job.names is not None and here["project"] not in job.names:
            self._refuse(seen.noted, f"{sync_id} is a memory of another project here")
            return
        state, is_news = self._standing(seen, here)
        known = self._place.known.get(name)
        kept = known.blob if known is not None and state in ("gone", "removed") else seen.noted.blob
        self._notes[name] = seen.noted._replace(state=state, blob=kept)
        if state == "here" and here is not None and here["source"] == self._place.branch_source:
            self._promoted[sync_id] = seen.author
        if state in ("here", "branch"):
            self._clocks[sync_id] = seen.clock
        if is_news:
            self._add(seen, here, is_of_branch=state == "branch")

    def _standing(self, seen: _Seen, here: Row | None) -> tuple[str, bool]:
        """Return the state of a file, and whether it is applied: as the memory's state, as a memory of this branch, or
        not at all, because it waits, is an older one, or its memory is deleted."""
        row, last = self._place.known.get(seen.noted.name), self._place.git.commits.get(seen.noted.name)
        if row is not None and row.state in ("gone", "removed") and not seen.moment:
            # Another branch's, or put there by who did not know of the deletion: then the export removes it again.
            return ("here" if last is not None and last.deletion else row.state), False
        if seen.own or seen.reviewed:
            return "here", True
        if here is None or here["source"] == self._place.branch_source:
            return "branch", True
        # An older state, or the same under another name, is no news.
        return ("here" if seen.clock <= here["clock"] else "waits"), False

    def _add(self, seen: _Seen, here: Row | None, *, is_of_branch: bool) -> None:
        file, source, author = seen.file, self._place.job.target, seen.author
        if is_of_branch:
            source = self._place.branch_source
            author = f"{author or 'somebody'}, on branch {self._place.repository.branch or 'without a name'}"
        # A file that a person began gets its front matter where it was begun, committed or not.
        begun = seen.own and not file.state and file.clock == ZERO
        self._unsaid |= {seen.noted.name} if seen.by_hand or begun else set()
        self._edited += file.edited and self._is_news(seen.noted)
        made = mutations(file, self._place.job.project, seen.clock if seen.moment else "", seen.moment)
        if here is not None and here["clock"] == seen.clock:
            made = made[1:]  # as it is here: only a verdict can be new
        # What this person wrote by hand is theirs; what a machine wrote stays whose it was.
        hand = seen.own and file.edited
        self._batches.setdefault((source, "" if hand else author, hand), []).extend(made)

    # --- what a missing file says -----------------------------------------------------------------------------

    def _miss(self, row: Noted, here: Row | None, present: set[str]) -> None:
        """Decide what a file that is no longer there means: renamed, deleted, of another branch, or lost."""
        git, last = self._place.git, self._place.git.commits.get(row.name)
        if row.state in ("gone", "removed"):
            return
        if row.sync_id in present or row.state == "refused" or here is None:
            self._dropped.append(row.name)
        elif last is None and row.state == "branch":
            self._forgotten.append(row.sync_id)
            self._dropped.append(row.name)
        elif last is None and row.name in git.elsewhere:
            self._notes[row.name] = row._replace(state="away")
        elif last is None and git.answers:  # never committed: the export writes it again
            self._dropped.append(row.name)
        elif last is not None and row.name in git.head:
            if self._place.job.until is None:  # deleted by hand, and a person syncs
                self._delete(row, *self._stamp(), "", own=True)
        elif last is not None and (last.here or git.default is None or row.name not in git.default):
            # After the memory, unless it changed here since.
            base, of = str(here["clock"]) if self._is_unchanged(row) else ZERO, id_of(row.name)[4:]
            clock = after(base, milliseconds=last.milliseconds, steps=last.count, of=of)
            self._delete(row, clock, _moment(last.milliseconds), last.author, own=last.here)
        elif last is not None:
            self._notes[row.name] = row._replace(state="waits")

    def _delete(self, row: Noted, clock: str, moment: str, author: str, *, own: bool) -> None:
        for state in self._place.job.replica.states("observation", [row.sync_id]):
            if state.op == "upsert" and not state.payload.get("deleted"):
                block = state.payload[OWN_BLOCK] | {"deleted_at": moment, "updated_at": moment}
                payload = state.payload | {"deleted": True, "deleted_at": moment, OWN_BLOCK: block}
                key = (self._place.job.target, "" if own else author, own)
                self._batches.setdefault(key, []).append(replace(state, payload=payload, clock=clock))
                self._deleted.append(str(state.payload["title"]))
        self._notes[row.name] = row._replace(state="gone", size=0, changed_ns=0)

    # --- storing --------------------------------------------------------------------------------------------

    def _apply(self) -> AppliedBatch:
        """Apply what was decided, a page at a time, so that others can write in between."""
        total, job = AppliedBatch(), self._place.job
        for (source, author, own), waiting in self._batches.items():
            key = f"~{author}" if author else ""
            for start in range(0, len(waiting), _STEP):
                page = waiting[start : start + _STEP]
                if job.is_late:
                    self._leave(page)
                    continue
                taken = folder_rows(job.store, page, job.names).taken
                total += job.replica.apply(taken, source=source, author=key, author_name=author, own=own)
                job.store.give_way()
                if job.progress is not None:
                    job.progress(start + len(page), len(waiting))
        if self._forgotten:
            job.replica.forget(self._forgotten)
        self._refused += [ChunkRefusal(one.entity_key, one.reason) for one in total.refused]
        return total

    def _leave(self, rows: Sequence[Mutation]) -> None:
        """Leave what there is no time for: its files are read again."""
        left = {one.entity_key if one.entity == "observation" else str(one.payload["source_id"]) for one in rows}
        self._notes = {name: note for name, note in self._notes.items() if note.sync_id not in left}
        self._promoted = {one: author for one, author in self._promoted.items() if one not in left}
        self._more = True

    def _keep(self, looked: str) -> None:
        """Note what was seen, now that it is in the database."""
        place, target = self._place, self._place.job.target
        upto, before = table.memory_folder(place.store, target)
        if not (self._notes or self._dropped or before != looked):
            return
        ids = [note.sync_id for note in self._notes.values() if note.sync_id in self._clocks]
        texts, states = place.rendered(ids, set(ids)), place.states(ids)
        with place.store.transaction():
            for sync_id, author in self._promoted.items():
                self._promote(sync_id, author)
            if self._promoted:
                place.store.execute(_FORGET_BRANCH, branch=place.branch_source)
            place.note([self._with_render(one, texts, states) for one in self._notes.values()], dropped=self._dropped)
            table.keep_memory_folder(place.store, target, upto_seq=upto, looked=looked)

    def _with_render(self, note: Noted, texts: Mapping[str, bytes], states: Mapping[str, Row]) -> Noted:
        """Return a file with what its memory makes of it now; where that changed since, it is still to be written."""
        state = states.get(note.sync_id)
        if note.sync_id not in texts or state is None or state["clock"] != self._clocks[note.sync_id]:
            return note
        return note._replace(render="" if note.name in self._unsaid else blob(texts[note.sync_id]))

    def _promote(self, sync_id: str, author: str) -> None:
        """Let a memory of a branch be one of the project's: the default branch has it. Call inside a transaction."""
        store, key = self._place.store, f"~{author}" if author else ""
        arrival = provenance.arrival_of(store, self._place.job.target, key, author)
        store.update("observations", {"sync_id": sync_id}, {"arrival": arrival})
        for sql in _PROMOTED:
            store.execute(sql, arrival=arrival, id=sync_id, branch=self._place.branch_source)
        row = store.row("select * from observations where sync_id = :id", id=sync_id)
        if row is not None and row["topic_key"]:
            topics.fold(store, topics.topic_of(row))
        relations.settle(store, {sync_id})

    def _is_news(self, note: Noted) -> bool:
        row = self._place.known.get(note.name)
        return note.state != "refused" and (row is None or (row.blob, row.state) != (note.blob, note.state))

    def _stamp(self) -> tuple[str, str]:
        with self._place.store.transaction():
            return self._journal.stamp(), self._journal.now()


def _moment(milliseconds: int) -> str:
    return to_text(datetime.fromtimestamp(milliseconds / 1000, UTC))
