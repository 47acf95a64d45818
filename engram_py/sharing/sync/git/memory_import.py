"""Take in the files of ``.engram/memories``: what others committed, and what a person changed by hand.

What a file says follows from its bytes and from git alone, so every clone comes to the same. A change that only a
branch has reaches no memory that is here before the default branch has it; a new memory of a branch is shown apart.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from engram_py.base.clock import ZERO, dated, is_ahead
from engram_py.base.database.store import Row
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.files import readable
from engram_py.base.times import to_text
from engram_py.memory.observations import topics
from engram_py.memory.privacy import provenance
from engram_py.memory.privacy.signatures import row_signer
from engram_py.memory.relations import table as relations
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.memories import UNNAMED, UNSIGNED, MemoryPlace
from engram_py.sharing.sync.git.memory_file import (
    MemoryFile,
    MemoryFileError,
    after,
    blob,
    id_of,
    mutations,
    parse_named,
)
from engram_py.sharing.sync.git.memory_folder import Commits, Listed
from engram_py.sharing.sync.git.table import ChunkRefusal, HandEdit, MemoriesRead, Noted
from engram_py.sharing.sync.mutation import OWN_BLOCK, AppliedBatch, Mutation, signed_content
from engram_py.sharing.sync.replica.project_access import folder_rows

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
# Says which edits by hand are the user's: all, none, or those of these files.
Mine = Callable[[Sequence[HandEdit]], bool | Collection[str]]
_STEP = 50  # rows in one transaction, for which other writers wait


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file that was read: what it says, and how git has it. ``moment`` is when a person changed it, empty where a
    machine wrote it; ``own``: the user signed it, or says that the edit is theirs (``by_hand``); ``reviewed``: the
    default branch has it."""

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

    def __init__(self, place: MemoryPlace, mine: Mine | None = None) -> None:
        """``mine`` is asked once whether the user made these edits of their memories, or which of the files; without it
        they are nobody's."""
        self._place, self._mine = place, mine
        self._unsigned: dict[str, HandEdit] = {}  # by file name
        self._notes: dict[str, Noted] = {}
        self._batches: dict[tuple[str, str, bool], list[Mutation]] = {}  # by source, author, and whether it is our own
        self._clocks: dict[str, str] = {}  # by shared id: the clock that a memory has by its file
        self._unsaid: set[str] = set()  # files with a clock that only this machine knows: the export says it in them
        self._promoted: dict[str, _Seen] = {}  # by shared id: what the default branch has now
        self._forgotten: list[str] = []
        self._dropped: list[str] = []
        self._deleted: list[str] = []
        self._refused: list[ChunkRefusal] = []
        self._edited = 0
        self._more = False
        self._now = int(place.job.journal.moment().timestamp() * 1000)

    def run(self) -> MemoriesRead:
        """Read what is new or changed. Raises SyncFolderError."""
        place, looked = self._place, self._place.looked
        listing, unnamed = place.folder.list()
        self._refused += [ChunkRefusal(name, UNNAMED) for name in unnamed]
        missing = [name for name in place.known if name not in listing] if place.folder.is_shared else []
        files = self._read(place.changed(listing), listing)
        here = place.states(
            [*(file.sync_id for file in files.values()), *(place.known[one].sync_id for one in missing)]
        )
        self._find_edits(files, here)
        claimed = self._claimed()
        for name, file in files.items():
            seen = self._seen(file, self._notes[name], here.get(file.sync_id), is_claimed=name in claimed)
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
            unsigned=tuple(one for name, one in self._unsigned.items() if name not in claimed),
            refused=tuple(self._refused),
            more=self._more,
        )

    # --- what a file says -----------------------------------------------------------------------------------

    def _read(self, names: Sequence[str], listing: Mapping[str, Listed]) -> dict[str, MemoryFile]:
        """Return what files say; of those whose bytes are as they were, the new time is noted and no more."""
        job, total = self._place.job, 0

        def read(name: str) -> MemoryFile | None:
            nonlocal total
            row, about = self._place.known.get(name) or Noted(name), listing[name]
            note = self._notes[name] = row._replace(size=about.size, changed_ns=about.changed_ns, reason="")
            total += about.size
            if about.problem:
                raise MemoryFileError(about.problem)
            if total > job.most:
                raise MemoryFileError(f"this file would exceed the limit of {job.most // 2**20} MiB for one read")
            data = self._place.folder.read(name)
            self._notes[name] = note._replace(blob=blob(data))
            if row.blob == blob(data) and row.state == "here":
                return None
            file = parse_named(data, name)
            if is_ahead(file.clock, now_milliseconds=self._now):
                raise MemoryFileError(f"clock: {dated(file.clock)} is in the future; restore the line from git")
            mutations(file, job.project, file.clock, moment=_moment(0))  # what it says can be said, edited or not
            if job.trusted and self._signer(file) not in job.trusted | job.keys.own:
                raise MemoryFileError("no trusted device signed it; `engram sync --trusted` lists them")
            return file

        def in_time() -> Iterator[str]:
            for name in names:
                if job.is_late:
                    self._more = True
                    return
                yield name

        files = readable(in_time(), read, aside=lambda name, why: self._refuse(self._notes[name], why))
        return {name: file for name, file in files if file is not None}

    def _refuse(self, note: Noted, reason: str) -> None:
        self._refused.append(ChunkRefusal(note.name, reason))
        self._notes[note.name] = note._replace(state="refused", reason=reason[:300])

    def _find_edits(self, files: Mapping[str, MemoryFile], here: Mapping[str, Row]) -> None:
        """Note the edits of memories that are the user's own: they alone can say whether they made them."""
        for name, file in files.items():
            state, known = here.get(file.sync_id), self._place.known.get(name)
            if file.edited and state is not None and state["own"] and known is not None and known.state != "branch":
                last = self._place.git.commits.get(name) if self._is_committed(self._notes[name]) else None
                self._unsigned[name] = HandEdit(name, file.title, last.author if last else "")

    def _claimed(self) -> Collection[str]:
        edits = tuple(self._unsigned.values())
        said = self._mine(edits) if edits and self._mine is not None else ()
        return self._unsigned.keys() if said is True else said or ()

    def _is_committed(self, note: Noted) -> bool:
        return self._place.git.head.get(note.name) == note.blob

    def _signer(self, file: MemoryFile) -> str:
        """Return the key that signed a file as it is, empty without one."""
        if not file.signature:
            return ""
        return row_signer(signed_content(mutations(file, self._place.job.project)[0]), file.signature)

    def _is_signed(self, file: MemoryFile) -> bool:
        """Return whether the user's key signed a file as it is."""
        signer = self._signer(file)
        return bool(signer) and signer in self._place.job.keys.own

    def _seen(self, file: MemoryFile, note: Noted, here: Row | None, *, is_claimed: bool) -> _Seen | None:
        """Return how git has a file; None where it waits, or git does not answer in time and it is read again."""
        git = self._place.git
        committed = self._is_committed(note)
        is_new = not committed and file.edited and note.name not in self._place.known
        if is_new and (other := self._other_file(file.sync_id)):
            self._refuse(note, f"it has the id of {other}: without its id line, it is a new memory")
            return None
        last = git.commits.get(note.name) if committed else None
        reviewed = committed and git.default.get(note.name) == note.blob
        passed = last is not None and here is not None and self._is_passed(file, note, last, here)
        changed = file.edited or passed
        by_hand = is_claimed and file.edited
        if changed and committed and last is None and not by_hand:
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
        elif changed:  # a draft that nobody committed: older than the commit that may follow
            seconds = min(note.changed_ns // 10**9, self._now // 1000)
            clock = after(file.clock, milliseconds=seconds * 1000, steps=0, of=note.blob[:16])
            moment = _moment(seconds * 1000)
        # Who had the side of a conflict that was taken sees no change.
        self._unsaid |= {note.name} if passed else set()
        noted = note._replace(sync_id=file.sync_id, state="here")
        own = by_hand or (not changed and self._is_signed(file))
        return _Seen(file, noted, clock, moment, last.author if last else "", by_hand, own, reviewed)

    def _other_file(self, sync_id: str) -> str:
        """Return the name of the file that a memory has; empty where it has none, or it was renamed."""
        name = self._place.names_of({sync_id}).get(sync_id, "")
        return name if name and (self._place.folder.path / name).exists() else ""

    def _is_passed(self, file: MemoryFile, note: Noted, last: Commits, here: Row) -> bool:
        """Return whether git had what is here and says something else since: a revert, a side of a conflict that a
        person took, a deleted file that is back. Its clock is an older one."""
        row = self._place.known.get(note.name)
        if row is None or row.sync_id != here["sync_id"]:
            return False
        if here["source"] == self._place.branch_source:  # of what a branch alone has, git alone says what it is
            return file.clock < here["clock"] and row.blob != note.blob
        if row.state not in ("here", "gone", "removed", "waits"):
            return False
        if here["deleted_at"]:  # who brought it back knew that it was deleted
            return bool(last.deletion) and self._place.git.is_before(last.deletion, last.ids[0])
        had = row.render if row.state == "waits" else row.blob  # of what waits, the file that was here before
        if file.clock >= here["clock"] or had == note.blob or had not in last.blobs:
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
        reason = UNSIGNED if state == "waits" and name in self._unsigned else ""
        self._notes[name] = seen.noted._replace(state=state, blob=kept, reason=reason)
        if state == "here" and here is not None and here["source"] == self._place.branch_source:
            self._promoted[sync_id] = seen
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
        return ("here" if seen.clock <= here["clock"] and not seen.file.edited else "waits"), False

    def _add(self, seen: _Seen, here: Row | None, *, is_of_branch: bool) -> None:
        file, source, author = seen.file, self._place.job.target, seen.author
        if is_of_branch:
            source = self._place.branch_source
            author = f"{author or 'somebody'}, on branch {self._place.repository.branch or 'without a name'}"
        self._unsaid |= {seen.noted.name} if seen.by_hand else set()
        self._edited += file.edited and self._is_news(seen.noted)
        made = mutations(file, self._place.job.project, seen.clock if seen.moment else "", seen.moment)
        if here is not None and here["clock"] == seen.clock and (here["own"] or not seen.own):
            made = made[1:]  # as it is here: only a verdict can be new
        self._batches.setdefault((source, "" if seen.by_hand else author, seen.by_hand), []).extend(made)

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
        elif last is not None and row.name not in git.default:
            # After the memory, unless it changed here since.
            base, of = str(here["clock"]) if self._is_unchanged(row) else ZERO, id_of(row.name)[4:]
            clock = after(base, milliseconds=last.milliseconds, steps=last.count, of=of)
            self._delete(row, clock, _moment(last.milliseconds), last.author, own=False)
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
        self._promoted = {one: seen for one, seen in self._promoted.items() if one not in left}
        self._more = True

    def _keep(self, looked: str) -> None:
        """Note what was seen, now that it is in the database."""
        place, target = self._place, self._place.job.target
        before = table.memory_folder(place.store, target)
        if not (self._notes or self._dropped or before.looked != looked):
            return
        ids = [note.sync_id for note in self._notes.values() if note.sync_id in self._clocks]
        texts, states = place.rendered(ids, set(ids)), place.states(ids)
        with place.store.transaction():
            for sync_id, seen in self._promoted.items():
                self._promote(sync_id, seen)
            if self._promoted:
                place.store.execute(_FORGET_BRANCH, branch=place.branch_source)
            place.note([self._with_render(one, texts, states) for one in self._notes.values()], dropped=self._dropped)
            table.keep_memory_folder(place.store, target, before._replace(looked=looked))

    def _with_render(self, note: Noted, texts: Mapping[str, bytes], states: Mapping[str, Row]) -> Noted:
        """Return a file with what its memory makes of it now; where that changed since, it is still to be written."""
        state = states.get(note.sync_id)
        if note.sync_id not in texts or state is None or state["clock"] != self._clocks[note.sync_id]:
            return note
        return note._replace(render="" if note.name in self._unsaid else blob(texts[note.sync_id]))

    def _promote(self, sync_id: str, seen: _Seen) -> None:
        """Let a memory of a branch come from the repository: the default branch has it. Call inside a transaction."""
        store, author = self._place.store, seen.author
        arrival = provenance.arrival_of(store, self._place.job.target, f"~{author}" if author else "", author)
        store.update("observations", {"sync_id": sync_id}, {"arrival": None if seen.own else arrival})
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
        journal = self._place.job.journal
        with self._place.store.transaction():
            return journal.stamp(), journal.now()


def _moment(milliseconds: int) -> str:
    return to_text(datetime.fromtimestamp(milliseconds / 1000, UTC))
