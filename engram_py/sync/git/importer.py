"""Import chunks: each is read once, and one that is refused does not stop the others."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from engram_py.database.store import Row, Store
from engram_py.dataclass import asdict, dataclass, field, replace
from engram_py.projects import table as project_table
from engram_py.sync import packing
from engram_py.sync.chunk import About, Contents, decompose
from engram_py.sync.git import table
from engram_py.sync.git.folder import ChunkFile, ChunkFolder
from engram_py.sync.git.places import Job
from engram_py.sync.git.values import ChunkRefusal, ChunksRead
from engram_py.sync.mutation import Applied, Mutation
from engram_py.sync.packing import ChunkRefusedError
from engram_py.sync.replica.project_access import ProjectAccess, normalized
from engram_py.sync.replica.table import deferred_counts
from engram_py.sync.signing import Signer, signer_of

if TYPE_CHECKING:
    from engram_py.sync.replica.replica import Replica


_BATCH = 500  # rows in one transaction, for which other writers wait


class _UntrustedError(ChunkRefusedError):
    """A chunk that is whole, but not trusted with the present keys and settings."""


@dataclass(slots=True)
class _Tally:
    """The results for each chunk; a chunk that is read twice counts once."""

    names: frozenset[str] | None
    applied: Applied = field(default_factory=Applied)
    read: set[str] = field(default_factory=set)
    rows: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    problems: dict[str, list[str]] = field(default_factory=dict)
    left_out: dict[str, Counter[str]] = field(default_factory=dict)


class Importer:
    """Imports the chunks of a folder that were not imported before."""

    def __init__(self, store: Store, replica: Replica) -> None:
        self._store = store
        self._replica = replica

    def run(self, job: Job) -> ChunksRead:
        """Read what is new. A chunk is noted when its rows are stored: a crash in between reads it again.

        Where all that was ever read here was left out, it is looked at once more.
        """
        listing = job.folder.list()
        manifest, _ = job.folder.manifest()
        tally = _Tally(job.names)
        again = self._all_left_out(job, listing)
        while not job.is_late:
            names = tally.names
            new = sorted(again or self._new(job, listing, names), key=lambda one: _age(one, manifest))
            again = []
            for done, chunk in enumerate(new):
                if job.is_late:
                    break
                if job.progress is not None:
                    job.progress(done, len(new))
                self._read(job, chunk, manifest.get(chunk.name, About()), tally)
            # An alias that arrived makes rows ours that were left out.
            if not new or tally.names == names or not any(tally.left_out.values()):
                break
        if tally.applied.applied:
            with self._store.transaction():
                table.tidy(self._store, job.target)
        rows = table.known(self._store, job.target)
        looked = tally.read.union(tally.refused)
        still = [name for name in listing if name not in looked and name in rows and table.is_refused(rows[name])]
        return ChunksRead(
            chunks=len(tally.read),
            rows=sum(tally.rows.values()),
            applied=tally.applied,
            refused=tuple(ChunkRefusal(name, why) for name, why in tally.refused.items()),
            still_refused=len(still),
            unreadable=tuple(ChunkRefusal(name, why) for name, all_ in tally.problems.items() for why in all_),
            left_out=dict(sorted(sum(tally.left_out.values(), Counter[str]()).items())),
            more=job.is_late and bool(self._new(job, listing, tally.names)),
            waiting=min(tally.applied.deferred, deferred_counts(self._store).get("deferred", 0)),
        )

    def has_news(self, target: str, folder: ChunkFolder) -> bool:
        """Return whether the folder has a chunk that was never looked at."""
        known = table.known(self._store, target)
        return any(_is_changed(chunk, known.get(name)) for name, chunk in folder.list().items())

    def _all_left_out(self, job: Job, listing: dict[str, ChunkFile]) -> list[ChunkFile]:
        """Return the chunks to read again: so far none of their rows belonged to this project."""
        if job.names is None or job.until is not None:
            return []
        known = table.known(self._store, job.target)
        readable = [chunk for name, chunk in listing.items() if name not in known or not table.is_refused(known[name])]
        read = [known[chunk.name] for chunk in readable if chunk.name in known]
        return readable if read and all(row["left_out"] for row in read) else []

    def waiting(self, job: Job) -> int:
        """Count the chunks that an import would read."""
        return len(self._new(job, job.folder.list(), job.names))

    def _new(self, job: Job, listing: dict[str, ChunkFile], names: frozenset[str] | None) -> list[ChunkFile]:
        known = table.known(self._store, job.target)
        policy = job.policy(names)
        return [chunk for name, chunk in listing.items() if _is_new(chunk, known.get(name), policy)]

    def _read(self, job: Job, chunk: ChunkFile, listed: About, tally: _Tally) -> None:
        note = {"target": job.target, "chunk": chunk.name, "size": chunk.size, "signature_size": chunk.signature_size}
        file, signer = b"", None
        try:
            file = job.folder.read(chunk)
            signer = self._signer(job, chunk, file)
            contents = self._contents(job, chunk, file)
        except ChunkRefusedError as exc:
            tally.refused[chunk.name] = str(exc)
            state = "refused" if isinstance(exc, _UntrustedError) else "broken"
            # An unreadable file may be readable the next time.
            policy = job.policy(tally.names) if file else ""
            self._note(note | asdict(listed), state=state, file=file, reason=str(exc), policy=policy)
            return
        choice = choose(self._store, contents.mutations, tally.names)
        applied, refusals, whole = self._apply(job, choice.taken)
        if not whole:
            tally.applied += applied
            return
        problems = [*contents.unreadable, *choice.problems, *refusals]
        tally.read.add(chunk.name)
        tally.rows[chunk.name] = len(contents.mutations) + len(contents.unreadable)
        tally.names = choice.names
        tally.applied += applied
        tally.problems[chunk.name] = problems
        tally.left_out[chunk.name] = choice.left_out
        about = About() if chunk.sealed else _with_manifest_facts(contents.about, listed)
        self._note(
            note | asdict(about) | {"device": signer.device if signer else contents.device},
            state="imported",
            file=file,
            reason="; ".join(problems)[:500],
            policy=job.policy(tally.names),
            left_out=len(contents.mutations) - len(choice.taken),
        )

    def _note(self, values: dict[str, Any], *, file: bytes, **more: Any) -> None:
        row = {"sha256": hashlib.sha256(file).hexdigest()}
        with self._store.transaction():
            table.remember(self._store, values | row | more)

    def _signer(self, job: Job, chunk: ChunkFile, file: bytes) -> Signer | None:
        """Return the signer of a chunk, None without one. Raises ChunkRefusedError."""
        signature = job.folder.read_signature(chunk.name)
        if signature is None:
            if job.trusted:
                raise _UntrustedError("it is not signed, and only trusted devices are read here")
            return None
        signer = signer_of(chunk.name, file, signature)
        if signer.key == job.device.key:
            return signer
        with self._store.transaction():
            table.see_device(self._store, job.target, key=signer.key, device=signer.device)
        if job.trusted and signer.key not in job.trusted:
            raise _UntrustedError(
                f"it is signed by device {signer.device}, which is not trusted; `engram sync --trust {signer.key}`"
            )
        return signer

    def _contents(self, job: Job, chunk: ChunkFile, file: bytes) -> Contents:
        if chunk.sealed:
            if job.key is None:
                raise _UntrustedError("it is encrypted, and encryption.json is missing")
            data = packing.unpack(job.key.open(chunk.name, file))
            name = job.key.name(data)
        else:
            if job.key is not None and not job.allow_plain:
                raise _UntrustedError("it is not encrypted, but this folder is; `engram sync --allow-plain` reads it")
            data = packing.unpack(file)
            name = packing.digest(data)
        if not name.startswith(chunk.name):
            raise ChunkRefusedError("it does not hold what its name says: it was changed, or renamed")
        return decompose(packing.parse(data), project=job.project)

    def _apply(self, job: Job, mutations: list[Mutation]) -> tuple[Applied, list[str], bool]:
        """Apply the rows; return the counts, the refusals, and whether there was time for all of them."""
        applied, refusals = Applied(), list[str]()
        for start in range(0, len(mutations), _BATCH):
            if start and job.is_late:
                return applied, refusals, False
            batch = mutations[start : start + _BATCH]
            done = self._replica.apply(batch, source=job.target)
            refusals += [f"{one.entity} {one.entity_key}: {one.reason}" for one in done.refused]
            applied += done
            with self._store.transaction():
                rows = [(one.entity, one.entity_key, one.clock) for one in batch]
                table.note_present(self._store, job.target, rows)
        return applied, refusals, True


def _is_changed(chunk: ChunkFile, row: Row | None) -> bool:
    return row is None or (chunk.size, chunk.signature_size) != (row["size"], row["signature_size"])


def _is_new(chunk: ChunkFile, row: Row | None, policy: str) -> bool:
    if row is None or _is_changed(chunk, row):
        return True
    return bool(table.is_refused(row) or row["left_out"]) and row["policy"] != policy


def _age(chunk: ChunkFile, manifest: dict[str, About]) -> tuple[str, str]:
    return manifest.get(chunk.name, About()).created_at, chunk.name


def _with_manifest_facts(said: About, listed: About) -> About:
    """Return a chunk's own entry; Engram writes creator and time into the manifest only."""
    if said.created_by:
        return said
    return replace(said, created_by=listed.created_by, created_at=listed.created_at or said.created_at)


@dataclass(slots=True)
class Choice:
    """The rows to import of a chunk. ``names`` are the project's names, with those the rows added; None is any."""

    names: frozenset[str] | None
    taken: list[Mutation] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


def choose(store: Store, mutations: Sequence[Mutation], names: frozenset[str] | None) -> Choice:
    """Choose the rows that belong to this project and to no other one here. Aliases come first in ``mutations``."""
    choice = Choice(names)
    if names is None:
        choice.taken = list(mutations)
        return choice
    access = ProjectAccess(store, mutations)
    for mutation in mutations:
        _choose(access, mutation, choice)
    return choice


def _choose(access: ProjectAccess, mutation: Mutation, choice: Choice) -> None:
    assert choice.names is not None
    alias = mutation.entity == "alias" and mutation.op == "upsert"
    if alias and _renames(access, mutation, choice.names):
        choice.names |= {normalized(mutation.project)}
    key = normalized(mutation.entity_key)
    # Whose the name of an alias is, is told in words.
    said = [*_projects(mutation), *(() if alias else access.owners(mutation))]
    strange = next((name for name in said if normalized(name) not in choice.names), None)
    if strange is not None:
        choice.left_out[strange] += 1
    elif alias and key not in choice.names and access.is_taken(key):
        choice.problems.append(
            f"it makes {key} another name of {mutation.project}, and {key} is a project of its own here; if they are "
            f"one, `engram projects merge {key} --into {mutation.project}` joins them, `engram sync --all` believes it"
        )
    else:
        choice.names |= {key} if alias else set()
        choice.taken.append(mutation)


def all_names(store: Store, project: str) -> frozenset[str]:
    """Return every name of a project."""
    return frozenset({project, *project_table.aliases_of(store, project)})


def _projects(mutation: Mutation) -> Iterable[str]:
    """Yield every project that a row names."""
    yield mutation.project
    named = mutation.payload.get("project")
    if isinstance(named, str) and named.strip():
        yield named
    if mutation.entity == "alias" and mutation.op == "delete":
        yield mutation.entity_key


def _renames(access: ProjectAccess, alias: Mutation, names: frozenset[str]) -> bool:
    """Return whether an alias gives this project a new name that nothing has here."""
    new = normalized(alias.project)
    return normalized(alias.entity_key) in names and new not in names and not access.is_known(new)
