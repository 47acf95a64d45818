"""One process of a user holds the model, and answers the others through a socket in the data directory.

The holder has a lock, which ends with its process: the next process that asks or looks takes over.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from engram_py.base.database.filesystem import SOCKETS
from engram_py.base.errors import EmbedderError
from engram_py.base.lazy import logger_of

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from engram_py.recall.vectors.protocol import Embedder, Vectors
    from engram_py.recall.vectors.values import Nearest

logger = logger_of(__name__)

# Every prompt hook imports this module: what only a holder needs is imported where it is used.

QUESTION_CHARS = 2_000
# How long a hook waits for the nearest memories, which takes 40 ms.
_NEARBY_SECONDS = 0.15
# A holder greets at once, also while it loads its model; one that is stopped does not. Its answer may wait for the
# model and for a batch.
_GREETING, _GREETING_SECONDS, _ANSWER_SECONDS = b"!", 2.0, 120.0
# From the end of a holder to the greeting of the next.
_NEXT_SECONDS, _PAUSE_SECONDS = 1.0, 0.02
_REQUEST_SECONDS, _MOST_BYTES = 1.0, 2**20
_MOST_AT_ONCE = 32
_SUFFIX = ".held"

Request = dict[str, Any]


def socket_of(data_dir: Path, model: str) -> Path:
    """Return the socket of the model with this name; its lock lies beside it."""
    import hashlib

    digest = hashlib.blake2b(model.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return data_dir / SOCKETS / f"{digest}{_SUFFIX}"


def can_share() -> bool:
    """Return whether this system has sockets with a path, and locks that end with their process."""
    import socket

    return os.name == "posix" and hasattr(socket, "AF_UNIX")


class Holder:
    """Answers the requests of other processes, once ``take`` made this process the holder."""

    def __init__(self, path: Path, answer: Callable[[Request], Request]) -> None:
        self._path, self._answer = path, answer
        self._changing = threading.Lock()
        self._held: tuple[int, socket.socket] | None = None
        self._closed = False
        self._free = threading.BoundedSemaphore(_MOST_AT_ONCE)

    def take(self) -> bool:
        """Return whether this process is the holder, which it becomes unless another one is."""
        with self._changing:
            if self._held is None and not self._closed:
                self._held = self._bound()
            return self._held is not None

    def release(self) -> None:
        """Let another process become the holder."""
        with self._changing:
            held, self._held = self._held, None
            if held is None:
                return
            lock, listening = held
            with contextlib.suppress(OSError):
                self._path.unlink()
            with contextlib.suppress(OSError):
                listening.shutdown(2)  # wakes the thread
            listening.close()
            os.close(lock)

    def close(self) -> None:
        """Release, and never take again."""
        self._closed = True
        self.release()

    def _bound(self) -> tuple[int, socket.socket] | None:
        """Return the lock and a listening socket; None while another process has the lock, or where the system has no
        such sockets, or the path is too long for one."""
        if not can_share():
            return None
        import fcntl
        import socket

        with contextlib.ExitStack() as undo:
            try:
                self._path.parent.mkdir(mode=0o700, exist_ok=True)
                self._path.parent.chmod(0o700)  # another user's folder refuses it
                lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
                undo.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                listening = undo.enter_context(socket.socket(socket.AF_UNIX))
                self._path.unlink(missing_ok=True)  # of a holder that was killed
                listening.bind(str(self._path))
                self._path.chmod(0o600)
                listening.listen(_MOST_AT_ONCE)
            except BlockingIOError:
                return None
            except OSError as exc:
                logger.debug("this process answers no others: %s", exc)
                return None
            undo.pop_all()
        threading.Thread(target=self._run, args=(listening,), name="engram-holder", daemon=True).start()
        return lock, listening

    def _run(self, listening: socket.socket) -> None:
        while True:
            self._free.acquire()
            try:
                connection, _ = listening.accept()
            except OSError:
                self._free.release()
                if listening.fileno() == -1:  # closed
                    return
                time.sleep(_PAUSE_SECONDS)  # no descriptor is free
                continue
            threading.Thread(target=self._serve, args=(connection,), name="engram-held", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(_REQUEST_SECONDS)
                connection.sendall(_GREETING)
                answer = self._answer(json.loads(_line(connection, time.monotonic() + _REQUEST_SECONDS)))
                connection.settimeout(_REQUEST_SECONDS)
                connection.sendall(json.dumps(answer).encode() + b"\n")
        except Exception as exc:  # whatever was sent, the next request gets an answer
            logger.debug("a request got no answer: %s", exc)
        finally:
            self._free.release()


class SharedEmbedder:
    """An embedder that one process holds for all: asks the holder, or loads the model into this process.

    ``load`` loads the model; ``holder`` returns the ``Holder`` of this process, None where the process does not stay.
    """

    def __init__(
        self, name: str, path: Path, load: Callable[[], Embedder], holder: Callable[[], Holder | None]
    ) -> None:
        self._name, self._path, self._load, self._holder = name, path, load, holder
        self._loading = threading.Lock()
        self._own: Embedder | None = None
        self.process = 0  # the holder's id, once it answered

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._vectors({"passages": list(texts)})

    def question(self, text: str) -> Vectors:
        return self._vectors({"question": text})

    def hold(self) -> None:
        """Load the model and serve it, unless another process does. Raises EmbedderError."""
        holder = self._holder()
        if holder is not None and holder.take():
            self._loaded()

    def serve(self, request: Request) -> Request:
        """Return the answer to what another process's ``SharedEmbedder`` asks.

        Raises EmbedderError: the model cannot be loaded; ValueError: the request is none, or asks another model.
        """
        from base64 import b64encode

        texts = request.get("passages", [request.get("question")])
        if request.get("model") != self._name or not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError("it asks for another model, or about no texts")
        own = self._loaded()
        try:
            rows = _computed(own, request)
        except EmbedderError as exc:
            return {"problem": getattr(exc, "reason", exc.message), "hint": exc.hint}
        return {"process": os.getpid(), "rows": len(rows), "vectors": b64encode(rows.tobytes()).decode()}

    def _vectors(self, request: Request) -> Vectors:
        failed_at = 0.0
        while self._own is None:
            late = False
            try:
                return self._asked(request)
            except TimeoutError:
                late = True
            except (OSError, ValueError):  # there is no holder, or it ended
                failed_at = failed_at or time.monotonic()
                late = time.monotonic() - failed_at > _NEXT_SECONDS
            holder = self._holder()
            if holder is None or late or holder.take():
                self._loaded()
            else:
                time.sleep(_PAUSE_SECONDS)
        return _computed(self._own, request)

    def _asked(self, request: Request) -> Vectors:
        """Return the holder's vectors. Raises OSError or ValueError without a holder that answers; EmbedderError."""
        from base64 import b64decode

        from engram_py.recall.vectors.protocol import library
        from engram_py.recall.vectors.values import EmbedderFailedError

        numpy = library(self._name, "numpy")
        answer = exchange(self._path, {"model": self._name, **request}, time.monotonic() + _ANSWER_SECONDS)
        if "problem" in answer:
            raise EmbedderFailedError(self._name, str(answer["problem"]), hint=str(answer["hint"]))
        self.process = int(answer["process"])
        rows: Vectors = numpy.frombuffer(b64decode(answer["vectors"]), numpy.float32).reshape(int(answer["rows"]), -1)
        if len(rows) != len(request.get("passages", "1")):
            raise ValueError("not one vector per text")
        return rows

    def _loaded(self) -> Embedder:
        """Return the model of this process. Raises EmbedderError; then this process is not the holder."""
        with self._loading:
            if self._own is None:
                try:
                    self._own = self._load()
                except BaseException:
                    if (holder := self._holder()) is not None:
                        holder.release()
                    raise
                self.process = 0
            return self._own


def _computed(embedder: Embedder, request: Request) -> Vectors:
    if "question" in request:
        return embedder.question(request["question"])
    return embedder.passages(request["passages"])


class Nearby:
    """The vectors of the holder that runs on this machine with the same memory, for a process that loads no model.

    Without a holder, or with a slow one, there are no hits.
    """

    def __init__(self, data_dir: Path, *, seconds: float = _NEARBY_SECONDS) -> None:
        self._folder, self._seconds = data_dir / SOCKETS, seconds

    @property
    def is_there(self) -> bool:
        """Whether a holder may answer; costs a look at a folder."""
        return bool(self._sockets())

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
        """Return what ``Vectors.nearest`` of the holder returns, of memories alone."""
        from engram_py.base.dataclass import replace
        from engram_py.recall.vectors.values import Nearest

        request = {"text": text[:QUESTION_CHARS], "within": within and list(within), "limit": limit, "also": list(also)}
        answer = None if documents else self._asked(request)
        if answer is None:
            return Nearest()
        near = nearest_of(answer)
        seen = {row for row, _ in near.hits} if sees is None else set(sees([row for row, _ in near.hits]))
        return replace(near, hits=tuple(hit for hit in near.hits if hit[0] in seen))

    def _asked(self, request: Request) -> Request | None:
        """Ask the holders, one after the other, until one answers."""
        until = time.monotonic() + self._seconds
        for path in self._sockets():
            with contextlib.suppress(OSError, ValueError):
                answer = exchange(path, request, until)
                return answer if "hits" in answer else None
        return None

    def _sockets(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if path.suffix == _SUFFIX]
        except OSError:
            return []


_NUMBERS = ("middle", "deviation", "population", "weight")


def answer_of(near: Nearest) -> Request:
    """Return the nearest as an answer to ``Nearby``."""
    return {"hits": near.hits, **{name: getattr(near, name) for name in _NUMBERS}}


def nearest_of(answer: Request) -> Nearest:
    """Return the nearest that ``answer_of`` wrote."""
    from engram_py.recall.vectors.values import Nearest

    hits = tuple((int(row), float(cosine)) for row, cosine in answer["hits"])
    return Nearest(hits, **{name: answer[name] for name in _NUMBERS})


def exchange(path: Path, request: Request, until: float) -> Request:
    """Return the answer of the holder at a socket, by the monotonic time ``until``.

    Raises TimeoutError: it is silent; another OSError or ValueError: there is none, or it ended.
    """
    import socket

    if not can_share():
        raise ConnectionRefusedError
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_left(min(until, time.monotonic() + _GREETING_SECONDS)))
        connection.connect(str(path))
        if connection.recv(1) != _GREETING:
            raise ValueError("no greeting")
        connection.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(_line(connection, until))
    if not isinstance(answer, dict):
        raise ValueError("no answer")
    return answer


def _line(connection: socket.socket, until: float) -> bytes:
    """Return the bytes before a line's end. Raises OSError: none in time; ValueError: too many."""
    received = b""
    while not received.endswith(b"\n"):
        connection.settimeout(_left(until))
        part = connection.recv(65_536)
        received += part
        if not part or len(received) > _MOST_BYTES:
            raise ValueError("no whole line")
    return received


def _left(until: float) -> float:
    return max(0.001, until - time.monotonic())
