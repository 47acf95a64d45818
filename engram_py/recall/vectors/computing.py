"""Compute pending vectors, batch by batch, after the write, one process at a time. A long-lived server has a thread for
it, which follows the writes of other processes too.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.runs import NamedLease
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EmbedderError, EngramError, StoreError
from engram_py.base.lazy import logger_of, regex
from engram_py.base.times import Clock, to_text
from engram_py.base.worker import Periodic
from engram_py.recall.vectors import table
from engram_py.recall.vectors.model import VectorModel
from engram_py.recall.vectors.protocol import pack
from engram_py.recall.vectors.table import KINDS, MEMORIES, Kind

if TYPE_CHECKING:
    from engram_py.recall.vectors.protocol import Vectors


# Sentence models read 256 to 512 tokens and drop the rest. On LoCoMo's sessions (3,000 characters each) one vector of
# the beginning finds .44 of the evidence at 5, one per passage of this size .72.
MAX_TOKENS = 256
MAX_PASSAGES = 64
_TITLE_CHARS = 200
_READ_CHARS = MAX_PASSAGES * MAX_TOKENS * 4  # more than an observation holds

_BREAK = regex(r"(?<=\n)|(?<=[.!?])(?= )|(?<=[。！？])")
_DENSE, _OTHER = "\u2e80", "\u0250"  # from here on a character is about a token; from there about half of one


def passages(title: str, content: str, aliases: str = "") -> list[str]:
    """Return the texts to embed for an observation, each headed by its title and a colon.

    As a line of its own the title says less to a sentence model (LoCoMo's turns: .29 against .34 at 5).
    """
    title = " ".join(title.split())[:_TITLE_CHARS]
    head = f"{title}: " if title else ""
    named = f" ({' '.join(aliases.split())[:_TITLE_CHARS]})" if aliases.strip() else ""
    texts = [head + piece.strip() for piece in _pieces(content)] or ([title] if title else [])
    return [texts[0] + named, *texts[1:]] if texts else []


def text_hash(title: str, content: str, aliases: str) -> str:
    """Return the identity of the text that ``passages`` reads: vectors of another one are out of date."""
    whole = "\0".join((title, content, aliases)).encode("utf-8", "replace")
    return hashlib.blake2b(whole, digest_size=12).hexdigest()


def tokens(text: str) -> float:
    """Return about how many tokens a text has: a quarter for a Latin letter, half for another, one for a Chinese."""
    if text.isascii():
        return len(text) / 4
    return sum(1.0 if c >= _DENSE else 0.5 if c >= _OTHER else 0.25 for c in text)


def _pieces(content: str) -> list[str]:
    """Return the content in runs of sentences of at most ``MAX_TOKENS``; a longer sentence is cut."""
    pieces: list[str] = []
    current, size = "", 0.0
    for sentence in _BREAK.split(content[:_READ_CHARS]):
        for part in _cut(sentence):
            weight = tokens(part)
            if current and size + weight > MAX_TOKENS:
                pieces.append(current)
                current, size = "", 0.0
            current += part
            size += weight
    pieces.append(current)
    return [piece for piece in pieces if piece.strip()][:MAX_PASSAGES]


def _cut(sentence: str) -> list[str]:
    if tokens(sentence) <= MAX_TOKENS:
        return [sentence] if sentence else []
    step = int(MAX_TOKENS * 4 if sentence.isascii() else MAX_TOKENS)
    return [sentence[start : start + step] for start in range(0, len(sentence), step)]


logger = logger_of(__name__)

# A step ends with one transaction; what it computed is kept whatever happens to the next.
_TEXTS, _PASSAGES = 64, 128
_TEXTS_AT_ONCE = 16  # of about one length, so that a model that fills up to the longest wastes little
_LEASE_SECONDS = 180.0
_KEPT_UNUSED = timedelta(days=7)  # another setting may come back, or be another process's
_FORGOTTEN_AT_ONCE = 2_000
_SAME = 0.99  # of the probe's vectors: endpoints answer the same text a little differently each time

_A_DAY = timedelta(days=1)

Stopped = Callable[[], bool]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Registered:
    """The model as the file knows it."""

    id: int
    dimension: int
    done_to: int


@dataclass(frozen=True, slots=True)
class Done:
    """What a pass computed: the numbers of memories, of passages of documents and of the vectors of both; ``new`` are
    the ids of memories that had none before."""

    memories: int = 0
    documents: int = 0
    vectors: int = 0
    new: tuple[int, ...] = ()

    @property
    def texts(self) -> int:
        return self.memories + self.documents

    def plus(self, kind: Kind, work: Sequence[_Work]) -> Done:
        vectors = self.vectors + sum(len(one.texts) for one in work)
        if kind is not MEMORIES:
            return replace(self, documents=self.documents + len(work), vectors=vectors)
        new = (*self.new, *(one.id for one in work if one.is_new))
        return replace(self, memories=self.memories + len(work), vectors=vectors, new=new)


@dataclass(frozen=True, slots=True)
class _Work:
    """A text whose vectors are to be computed; ``is_new`` has none yet."""

    id: int
    hash: str
    texts: list[str]
    is_new: bool


class VectorUpkeep:
    """Keeps the vectors of one file up to date, over a connection of its own: nobody waits for a model."""

    def __init__(self, store: Store, clock: Clock, model: VectorModel, *, stopped: Stopped = lambda: False) -> None:
        self._store = store
        self._clock = clock
        self._model = model
        self._stopped = stopped
        self._checked: int | None = None  # the entry whose probe was compared

    # --- the model ------------------------------------------------------------------------------------------

    def entry(self) -> Registered:
        """Return the model's entry in the file, a new one when the model is new or answers otherwise than it did.

        Raises EmbedderError when the model cannot be asked.
        """
        name = self._model.spec.name
        row = table.embedder(self._store, name)
        if row is None or row["id"] != self._checked:
            row = self._registered(name)
            self._checked = row["id"]
        return Registered(row["id"], row["dimension"], row["done_to"])

    def _registered(self, name: str) -> Row:
        probe = self._model.probe()
        now = self._clock()
        with self._store.transaction():
            row = table.embedder(self._store, name)
            if row is not None and not same_model(probe, row["probe"], row["dimension"]):
                table.set_aside(self._store, row["id"])
                row = None
            if row is None:
                values = {"name": name, "dimension": probe.shape[-1], "probe": probe.tobytes(), "now": to_text(now)}
                table.add_embedder(self._store, **values)
            elif row["used_at"] < to_text(now - _A_DAY):
                self._store.update("embedders", {"id": row["id"]}, {"used_at": to_text(now)})
            found = table.embedder(self._store, name)
        assert found is not None
        return found

    # --- computing ------------------------------------------------------------------------------------------

    def run(self, *, progress: Progress | None = None) -> Done | None:
        """Compute all that is pending, memories first; None while another process computes.

        Raises EmbedderError when the model fails; what was computed before is kept.
        """
        entry = self.entry()
        if not any(any(self._pending(kind, entry, limit=1)) for kind in KINDS):
            return Done()  # nothing is written, which would wake the other processes
        journal = Journal(self._store, self._clock)
        lease = NamedLease(self._store, journal, f"vectors {entry.id}", seconds=_LEASE_SECONDS)
        with lease.holding() as renew:
            if renew is None:
                return None
            done = Done()
            total = sum(table.count_pending(self._store, kind, entry.id, entry.done_to) for kind in KINDS)
            for kind in KINDS:
                while (step := self._step(kind)) is not None:
                    done = done.plus(kind, step)
                    if progress:
                        progress(done.texts, max(total, done.texts))
                    renew()
            if done.texts:
                self._forget_unused(entry.id)
        return done

    def _pending(self, kind: Kind, entry: Registered, *, limit: int) -> tuple[list[Row], list[Row]]:
        return table.pending(self._store, kind, entry.id, done_to=entry.done_to, limit=limit)

    def _step(self, kind: Kind) -> list[_Work] | None:
        """Compute one batch and return it; None when nothing is pending, or somebody asked to stop."""
        entry = self.entry()
        stale, new = self._pending(kind, entry, limit=_TEXTS)
        if not (stale or new) or self._stopped():
            return None
        work = self._work(kind, entry.id, stale, new)
        vectors = self._computed(work)
        if vectors is None:
            return None
        self._keep(kind, entry, work, vectors)
        return work

    def _forget_unused(self, embedder_id: int) -> None:
        """Delete the vectors that no setting has used for a week."""
        before = to_text(self._clock() - _KEPT_UNUSED)
        for unused in table.unused(self._store, keep=embedder_id, before=before):
            more = True
            while more and not self._stopped():
                with self._store.transaction():
                    more = table.forget(self._store, unused, limit=_FORGOTTEN_AT_ONCE)

    def _work(self, kind: Kind, embedder_id: int, stale: Sequence[Row], new: Sequence[Row]) -> list[_Work]:
        known = table.known_hashes(self._store, kind, embedder_id, [row["id"] for row in stale])
        work: list[_Work] = []
        unchanged: list[int] = []
        for row, is_new in [*((row, False) for row in stale), *((row, True) for row in new)]:
            told = (row["title"], row["content"], row["aliases"])
            found = _Work(row["id"], text_hash(*told), passages(*told), is_new)
            if known.get(found.id) == found.hash:
                unchanged.append(found.id)
                continue
            work.append(found)
            if sum(len(one.texts) for one in work) >= _PASSAGES:
                break
        if unchanged:  # changed, and changed back
            with self._store.transaction():
                for text in unchanged:
                    key = {"embedder_id": embedder_id, kind.key: text}
                    self._store.update(kind.vectors, key, {"stale": 0})
        return work

    def _computed(self, work: Sequence[_Work]) -> dict[int, bytes] | None:
        """Return the packed vectors of each observation; None when asked to stop meanwhile."""
        try:
            return self._packed(work)
        except EmbedderError:
            self._model.passages(["Does it answer?"])
        # The model answers, so it is one of the texts: it stays without a vector, and the others are not held up.
        done: dict[int, bytes] = {}
        for one in work:
            try:
                packed = self._packed([one])
            except EmbedderError as exc:
                logger.warning("the text %d has no vector: %s", one.id, exc.message)
                packed = {one.id: b""}
            if packed is None:
                return None
            done |= packed
        return done

    def _packed(self, work: Sequence[_Work]) -> dict[int, bytes] | None:
        places = ((one.id, place, text) for one in work for place, text in enumerate(one.texts))
        texts = sorted(places, key=lambda one: (len(one[2]), *one[:2]))
        rows: dict[tuple[int, int], bytes] = {}
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            if self._stopped():
                return None
            batch = texts[start : start + _TEXTS_AT_ONCE]
            vectors = self._model.passages([text for _, _, text in batch])
            for (observation_id, place, _), vector in zip(batch, vectors, strict=True):
                rows[observation_id, place] = pack(vector[None]) if vector.any() else b""
        return {one.id: b"".join(rows[one.id, place] for place in range(len(one.texts))) for one in work}

    def _keep(self, kind: Kind, entry: Registered, work: Sequence[_Work], vectors: dict[int, bytes]) -> None:
        with self._store.transaction():
            now = table.texts(self._store, kind, [one.id for one in work])
            for one in work:
                row = now.get(one.id)
                if row is None:
                    continue  # destroyed meanwhile
                table.put(
                    self._store,
                    kind,
                    embedder_id=entry.id,
                    id=one.id,
                    text_hash=one.hash,
                    vectors=vectors[one.id],
                    stale=text_hash(row["title"], row["content"], row["aliases"]) != one.hash,
                )
            new = [one.id for one in work if one.is_new]
            if new:
                table.done_to(self._store, entry.id, max(new))


def same_model(probe: Vectors, kept: bytes, dimension: int) -> bool:
    """Return whether the model that made ``probe`` is the one whose answer to it was kept."""
    import numpy as np

    if probe.shape[-1] != dimension or len(kept) != 4 * dimension:
        return False
    return float(probe[0] @ np.frombuffer(kept, dtype=np.float32)) >= _SAME


# Writes of this process wake the thread; those of others are noticed this often.
_LOOK_SECONDS = 5.0
# Writes come in bursts; a batch of them is computed together.
_GATHER_SECONDS = 0.2
_FIRST_REST_SECONDS, _LONGEST_REST_SECONDS = 5.0, 300.0

# Given the connection, and what tells whether to stop, makes the function that is called on every change.
Work = Callable[[Store, Callable[[], bool]], Callable[[], None]]


class VectorWorker:
    """Works on a connection of its own whenever the file has changed, in its ``thread``, and calls ``look`` before."""

    def __init__(self, open_store: Callable[[], Store], work: Work, *, look: Callable[[], None] = lambda: None) -> None:
        self._open_store, self._make, self._look_first = open_store, work, look
        self._store: Store | None = None
        self._work: Callable[[], None] = lambda: None
        self._seen: int | None = None
        self._rest = 0.0
        self.thread = Periodic(
            self._look, name="engram-vectors", every=_LOOK_SECONDS, gather=_GATHER_SECONDS, end=self._close
        )

    def _look(self) -> float | None:
        try:
            self._look_first()
            if self._store is None:
                self._store = self._open_store()
                self._work = self._make(self._store, self.thread.stopped.is_set)
            version = int(self._store.value("pragma data_version"))
            if version != self._seen:
                self._work()
                self._seen = version  # what was committed meanwhile is another change
        except EngramError as exc:
            self._rest = min(max(_FIRST_REST_SECONDS, 2 * self._rest), _LONGEST_REST_SECONDS)
            logger.info("vectors wait %.0f s: %s", self._rest, exc.message)
            self.thread.stopped.wait(self._rest)  # whatever is written meanwhile
            return 0.0
        self._rest = 0.0
        return None

    def _close(self) -> None:
        if self._store is not None:
            with contextlib.suppress(StoreError):
                self._store.close()
