"""Vectors: the nearest observations to a question in meaning, computed after the writes."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from engram_py.base.dataclass import replace
from engram_py.base.errors import EmbedderError
from engram_py.base.reasons import reason
from engram_py.recall.vectors.holder import QUESTION_CHARS, Holder, Nearby, answer_of
from engram_py.recall.vectors.values import EmbedderFailedError

if TYPE_CHECKING:
    from pathlib import Path

    from engram_py.base.database.store import Store
    from engram_py.base.reasons import Told
    from engram_py.base.times import Clock
    from engram_py.recall.vectors.computing import Done, VectorWorker
    from engram_py.recall.vectors.holder import Request
    from engram_py.recall.vectors.index import VectorIndex
    from engram_py.recall.vectors.model import Loader, VectorModel
    from engram_py.recall.vectors.table import Kind
    from engram_py.recall.vectors.values import Embedded, Nearest, TurnedOff, VectorState

# Every search imports this module, and most have no embedder: what only vectors need is imported where it is used.

# How long a search waits for the vector of its question: a server has the model loaded, a command loads it first.
SERVER_SECONDS, COMMAND_SECONDS = 3.0, 60.0
_STOPPING_SECONDS = 0.2
_MOST_ASKED_ABOUT = 20
# The prompts that show which language the user writes; so few foreign ones may be quotations. Of XQuAD's questions the
# small words show .98 of the Spanish, .90 of the Chinese, .58 of the Russian, and none of the English ones.
_LATEST_PROMPTS, _FEWEST_FOREIGN = 50, 1

# Over a connection, asks about the pairs that new memories are part of; returns the ids of each.
Ask = Callable[["Store", Sequence[int]], Sequence[tuple[int, int]]]


class Vectors:
    """The optional half of search. Without an ``embedder`` it does nothing and imports nothing.

    A process that stays passes ``follow``, which tells the embedder that is set now: it takes another at once.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        embedder: str = "",
        key: str = "",
        load: Loader | None = None,
        follow: Callable[[], str] | None = None,
        ask: Ask | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._setting = embedder
        self._key = key
        self._load = load
        self._indexes: dict[Kind, VectorIndex] = {}
        self._worker: VectorWorker | None = None
        self._follow = follow
        self._ask = ask
        self._changing = threading.Lock()
        self._holder: Holder | None = None

    @property
    def enabled(self) -> bool:
        """Whether an embedder is set; costs next to nothing."""
        if self._follow is not None and (setting := self._follow()) != self._setting:
            with self._changing:
                self.close()
                self._setting = setting
                self._indexes.clear()
                self.__dict__.pop("_model", None)
                self.start()
        return bool(self._setting)

    @cached_property
    def _model(self) -> VectorModel:
        from engram_py.recall.vectors.model import VectorModel

        return VectorModel(
            self._setting, models=self.models, key=self._key, load=self._load, holder=lambda: self._holder
        )

    @property
    def models(self) -> Path:
        """The folder that models are fetched into."""
        return self._store.path.parent / "models"

    @property
    def private(self) -> bool:
        """Whether texts stay on this machine or go out encrypted. Raises InvalidEmbedderError."""
        return self._model.spec.private

    # --- searching ------------------------------------------------------------------------------------------

    def nearest(
        self,
        text: str,
        *,
        within: Sequence[object] | None = None,
        sees: Callable[[Collection[int]], Collection[int]] | None = None,
        limit: int = 50,
        also: Iterable[int] = (),
        documents: bool = False,
    ) -> Nearest:
        """Return the ``limit`` observations nearest to a question, and how near those of ``also`` are; or passages of
        ``documents``.

        ``within`` are projects as in a search, or ids of collections; ``sees``, given ids, answers which of them may be
        shown. When the embedder fails, the note says why.
        """
        from engram_py.recall.vectors.values import Nearest

        if not self.enabled or not text.strip():
            return Nearest()
        shown = text[:QUESTION_CHARS].encode("utf-8", "replace").decode()
        try:
            index = self._open_index(documents=documents)
            from engram_py.recall.vectors.index import VectorView  # after what says that numpy is missing

            question = self._model.question(shown, seconds=self._question_seconds)
            view = VectorView(None if within is None else tuple(within), sees)
            near = index.near(question, view, limit=limit, also=also)
        except EmbedderError as exc:
            return Nearest(note=reason("no_vectors", problem=exc.message, hint=exc.hint))
        return replace(near, weight=self._model.spec.weight)

    def _open_index(self, *, documents: bool = False) -> VectorIndex:
        """Return the vectors of the set model. Raises EmbedderError: none, or another model by that name made them."""
        from engram_py.recall.vectors import table

        row = table.embedder(self._store, self._model.spec.name)
        if row is None:
            hint = "the server computes them now" if self._worker else "run `engram vectors on`"
            raise EmbedderFailedError(self._setting, "nothing was computed yet", hint=hint)
        kind = table.PASSAGES if documents else table.MEMORIES
        index = self._indexes.get(kind)
        if index is None or index.embedder_id != row["id"]:
            # It says so when numpy is missing, which these import.
            probe = self._model.probe(seconds=self._question_seconds)
            from engram_py.recall.vectors.computing import same_model
            from engram_py.recall.vectors.index import VectorIndex

            if not same_model(probe, row["probe"], row["dimension"]):
                reason = "its vectors differ from the stored ones"
                raise EmbedderFailedError(self._setting, reason, hint="run `engram vectors on`")
            index = self._indexes[kind] = VectorIndex(self._store, kind, row["id"], row["dimension"])
        return index

    @property
    def _question_seconds(self) -> float:
        return SERVER_SECONDS if self._worker is not None else COMMAND_SECONDS

    # --- computing ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Compute in the background from now on: for a process that stays. Does nothing without an embedder."""
        if not self._setting or self._worker is not None:
            return
        from engram_py.base.database.store import Store
        from engram_py.recall.vectors.computing import VectorWorker

        path = self._store.path
        with contextlib.suppress(EmbedderError):
            self._holder = Holder(self._model.socket_path, self._answered)
        self._worker = VectorWorker(lambda: Store(path), self._background, look=self._model.hold)
        self._store.after_write.append(self._worker.thread.wake)
        self._worker.thread.start()

    def close(self) -> None:
        """End the background thread. What it was computing just now is computed another time."""
        worker, self._worker = self._worker, None
        if self._holder is not None:
            self._holder.close()
        if worker is not None:
            self._store.after_write.remove(worker.thread.wake)
            worker.thread.stop(seconds=_STOPPING_SECONDS)

    def _answered(self, request: Request) -> Request:
        """Return the answer to another process, as the holder of the model."""
        if "text" not in request:
            return self._model.serve(request)
        near = self.nearest(
            str(request["text"]), within=request["within"], limit=request["limit"], also=request["also"]
        )
        return answer_of(near)

    def _background(self, store: Store, stopped: Callable[[], bool]) -> Callable[[], None]:
        """Return the work of the thread after each change of the file, over its own connection."""
        from engram_py.recall.vectors.computing import VectorUpkeep

        upkeep = VectorUpkeep(store, self._clock, self._model, stopped=stopped)

        def work() -> None:
            done = upkeep.run()
            for documents in (False, True):  # so that the first search finds everything in memory
                with contextlib.suppress(EmbedderError):
                    self._open_index(documents=documents).refresh(store)
            self._asked(store, done)

        return work

    def open(self) -> None:
        """Load the model, fetching it where its library does so by itself. Raises EmbedderError."""
        if not self.enabled:
            raise EmbedderFailedError("embedder", "none is set", hint="run `engram vectors on`")
        self._model.open(download=True, threads=os.cpu_count())
        self._model.probe()

    def compute(self, *, progress: Callable[[int, int], None] | None = None, seconds: float | None = None) -> Embedded:
        """Compute what is pending, for about as many ``seconds``; None computes all of it.

        Raises EmbedderError: the model cannot be loaded, or fails.
        """
        from engram_py.recall.vectors.computing import VectorUpkeep
        from engram_py.recall.vectors.table import retry_empty
        from engram_py.recall.vectors.values import Embedded

        started = time.perf_counter()
        self.open()
        until = None if seconds is None else started + seconds
        late = (lambda: False) if until is None else (lambda: time.perf_counter() > until)
        upkeep = VectorUpkeep(self._store, self._clock, self._model, stopped=late)
        entry = upkeep.entry()
        with self._store.transaction():
            retry_empty(self._store, entry.id)
        done = upkeep.run(progress=progress)
        said: tuple[Told, ...] = () if done is not None else (reason("vectors_elsewhere"),)
        said += tuple(reason("may_contradict", new=new, old=old) for new, old in self._asked(self._store, done))
        memories, documents, vectors = (done.memories, done.documents, done.vectors) if done else (0, 0, 0)
        took = round(time.perf_counter() - started, 2)
        return Embedded(self._setting, memories, vectors, took, self.state(ask=True), said, documents)

    def _asked(self, store: Store, done: Done | None) -> Sequence[tuple[int, int]]:
        """Ask whether what was just saved contradicts something; more at once is an import, for a scan to look at."""
        new = () if done is None else done.new
        return self._ask(store, new) if self._ask is not None and 0 < len(new) <= _MOST_ASKED_ABOUT else ()

    def pending(self) -> tuple[int, int]:
        """Return how many memories, and passages of documents, lack the vectors of the embedder that is set; no model
        is asked."""
        return self._pending(self._model.spec.name)

    def _pending(self, name: str) -> tuple[int, int]:
        from engram_py.memory.observations.visible import count_live
        from engram_py.recall.vectors import table

        row = table.embedder(self._store, name) if name else None
        if row is None:
            return count_live(self._store, None), table.count_documents(self._store)
        memories, documents = (
            table.count_pending(self._store, kind, row["id"], row["done_to"]) for kind in table.KINDS
        )
        return memories, documents

    @property
    def fitting(self) -> str:
        """The lane that reads the language of the user's prompts: ``multilingual`` when a third of the latest are
        seen to be in another language than English, else ``sentence``."""
        from engram_py.base.text.words import is_foreign, is_unspaced, segments
        from engram_py.memory.sessions.table import recent_prompts

        foreign = 0
        prompts = recent_prompts(self._store, projects=None, limit=_LATEST_PROMPTS, own=True)
        for prompt in prompts:
            words = segments(prompt.content[:QUESTION_CHARS])
            foreign += is_foreign(words) or sum(map(is_unspaced, words)) > len(words) / 2
        return "multilingual" if foreign > max(_FEWEST_FOREIGN, len(prompts) / 3) else "sentence"

    def turned_off(self, *, delete: bool) -> TurnedOff:
        """Return what is left without the setting; ``delete`` removes the vectors and the fetched models."""
        from shutil import rmtree

        from engram_py.recall.vectors import table
        from engram_py.recall.vectors.values import TurnedOff

        with self._store.transaction():
            had = table.clear(self._store) if delete else table.count_observations(self._store)
        if delete:
            rmtree(self.models, ignore_errors=True)
        return TurnedOff(0 if delete else had, had if delete else 0)

    def state(self, *, ask: bool = False) -> VectorState:
        """Return how far vectors are computed. ``ask`` has the model answer once, and names the problem when it
        fails."""
        from engram_py.memory.observations.visible import count_live
        from engram_py.recall.vectors import table
        from engram_py.recall.vectors.model import LANES, runtime_of
        from engram_py.recall.vectors.values import VectorState

        problem = hint = None
        name, host, runtime, model_bytes, question_ms = self._setting, "", "", 0, 0.0
        if self.enabled:
            try:
                spec = self._model.spec
                name, host = spec.name, spec.host
                runtime = runtime_of(LANES[spec.kind], self.models) if spec.kind in LANES else ""
                model_bytes = sum(file.stat().st_size for file in spec.folder(self.models).rglob("*") if file.is_file())
                if ask:
                    self._model.probe(seconds=COMMAND_SECONDS)
                    started = time.perf_counter()
                    self._model.question("How long does it take to ask?", seconds=COMMAND_SECONDS)
                    question_ms = round((time.perf_counter() - started) * 1000, 1)
            except EmbedderError as exc:
                problem, hint = exc.message, exc.hint
        live, documents = count_live(self._store, None), table.count_documents(self._store)
        row = table.embedder(self._store, name) if name else None
        pending, undone = self._pending(name)
        return VectorState(
            embedder=name,
            host=host,
            runtime=runtime,
            observations=live,
            done=live - pending,
            documents=documents,
            documents_done=documents - undone,
            dimension=0 if row is None else row["dimension"],
            bytes=table.size(self._store),
            others=tuple(one["name"] for one in table.embedders(self._store) if one["name"] != name),
            problem=problem,
            hint=hint,
            model_bytes=model_bytes,
            question_ms=question_ms,
            process=self._model.process if self._setting else 0,
            fitting=self.fitting,
        )


# The nearest in meaning by this process's vectors, or by those of the holder of the model.
NearMeaning = Vectors | Nearby
