"""One process holds the model for all: who loads it, and what happens when the holder ends, sticks, or is lied to."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from engram_py.app import Engram
from engram_py.base.settings import Settings
from engram_py.recall.vectors.holder import Holder, Nearby, exchange, socket_of
from engram_py.recall.vectors.values import EmbedderFailedError
from engram_py.recall.vectors.vectors import Vectors
from tests.embedders import TinyEmbedder
from tests.support import draft

pytestmark = pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets with a path")
ROOT = Path(__file__).parents[3]
LOGIN = "Tokens of the gateway are refreshed when users access it."
NAME = "sentence:minilm-l6-int8"


class Process:
    """A process of ``holding.py``."""

    def __init__(self, data_dir: Path, *flags: str, embedder: str = "sentence") -> None:
        words = [sys.executable, "-m", "tests.recall.vectors.holding", str(data_dir), embedder, *flags]
        self._process = subprocess.Popen(
            words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        assert self.line() == '{"started": true}'

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, question: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def ask(self, question: str) -> dict[str, Any]:
        self.send(question)
        return dict(json.loads(self.line()))

    def send_signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.ExitStack() as ends:
            ends.enter_context(self._process)
            self.kill()


@pytest.fixture
def opened(data_dir: Path, folder: Path) -> Iterator[Engram]:
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        app.save(draft(LOGIN))
        yield app


@pytest.fixture
def start(data_dir: Path, opened: Engram) -> Iterator[Callable[..., Process]]:
    """Starts processes with the memory of ``opened``, and ends them."""
    with contextlib.ExitStack() as ends:
        yield lambda *flags, **more: ends.enter_context(Process(data_dir, *flags, **more))


def answered(process: Process) -> dict[str, Any]:
    """The first answer with hits: the vectors are computed in the background."""
    number = 0
    while not (answer := process.ask(f"tokens of users {number}"))["hits"]:
        number += 1
    return answer


def test_one_process_loads_the_model_and_the_others_ask_it(start: Callable[..., Process], data_dir: Path) -> None:
    holder = start()
    assert answered(holder)["loads"] == 1
    for asker in (start(), start("command")):
        answer = asker.ask("tokens of gateways")
        assert (answer["hits"], answer["loads"], answer["process"]) == ([1], 0, holder.pid)
    assert Nearby(data_dir, seconds=10).nearest("tokens").hits


def test_a_question_is_answered_though_the_holder_is_killed_in_the_middle_of_it(
    start: Callable[..., Process], data_dir: Path
) -> None:
    holder = start("stuck")
    answered(holder)
    second = start()
    assert second.ask("tokens")["loads"] == 0
    second.send("tokens on a cliff")
    assert holder.line() == "stuck"
    holder.kill()
    answer = json.loads(second.line())
    assert (answer["hits"], answer["note"], answer["loads"]) == ([1], None, 1)
    third = start().ask("another question")
    assert (third["process"], third["loads"]) == (second.pid, 0)
    assert Nearby(data_dir, seconds=10).nearest("tokens").hits


def test_a_process_that_is_asked_nothing_takes_over_for_the_hooks(
    start: Callable[..., Process], data_dir: Path
) -> None:
    holder = start()
    answered(holder)
    assert answered(start())["loads"] == 0
    holder.kill()
    nearby, moment = Nearby(data_dir, seconds=10), threading.Event()
    while not nearby.nearest("tokens").hits:
        moment.wait(0.1)


@pytest.mark.parametrize("flags", [pytest.param((), id="server"), pytest.param(("command",), id="command")])
def test_a_holder_that_is_stopped_is_not_waited_for(start: Callable[..., Process], flags: tuple[str, ...]) -> None:
    holder = start()
    answered(holder)
    other = start(*flags)
    holder.send_signal(signal.SIGSTOP)
    answer = answered(other)
    holder.send_signal(signal.SIGCONT)
    assert (answer["hits"], answer["loads"]) == ([1], 1)
    assert answer["seconds"] < 30


def test_each_model_has_its_own_holder(start: Callable[..., Process], data_dir: Path) -> None:
    holder, other = start(), start(embedder="fastembed:another")
    assert (answered(holder)["process"], answered(other)["process"]) == (0, 0)
    assert socket_of(data_dir, NAME).is_socket()
    assert socket_of(data_dir, "fastembed:another").is_socket()


def test_a_process_without_numpy_holds_nothing_and_searches_by_words(start: Callable[..., Process]) -> None:
    bare, other = start("bare"), start()
    assert answered(other)["loads"] == 1
    answer = bare.ask("tokens")
    assert (answer["hits"], answer["note"]) == ([], "no_vectors")


# --- in this process ----------------------------------------------------------------------------------------


@pytest.fixture
def holding(opened: Engram) -> Iterator[Vectors]:
    vectors = Vectors(opened.store, opened.settings.clock, embedder="sentence", load=TinyEmbedder().load)
    vectors.start()
    _until(lambda: vectors.state().done == 1)
    yield vectors
    vectors.close()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"[]\n", id="a-list"),
        pytest.param(b"\xff\xfe\0\n", id="no-text"),
        pytest.param(b"[" * 200_000 + b"\n", id="deep"),
        pytest.param(b"{}\n", id="empty"),
        pytest.param(b'{"text": 1}\n', id="half"),
        pytest.param(json.dumps({"model": NAME, "passages": []}).encode() + b"\n", id="no-texts"),
        pytest.param(json.dumps({"model": NAME, "passages": [1, {}]}).encode() + b"\n", id="numbers"),
        pytest.param(json.dumps({"model": "another", "question": "tokens"}).encode() + b"\n", id="another-model"),
        pytest.param(b"x" * (2**20 + 1), id="without-an-end"),
    ],
)
def test_what_is_no_request_is_answered_with_nothing_and_harms_no_other(
    holding: Vectors, data_dir: Path, sent: bytes
) -> None:
    with socket.socket(socket.AF_UNIX) as rude:
        rude.settimeout(30)
        rude.connect(str(socket_of(data_dir, NAME)))
        assert rude.recv(1) == b"!"
        with contextlib.suppress(OSError):  # it hangs up while it is sent too much
            rude.sendall(sent)
            assert rude.recv(100) == b""
    assert Nearby(data_dir, seconds=10).nearest("tokens").hits


def test_a_failure_of_the_model_is_told_to_whoever_asked(opened: Engram, data_dir: Path) -> None:
    tiny = TinyEmbedder()
    holding = Vectors(opened.store, opened.settings.clock, embedder="sentence", load=tiny.load)
    asking = Vectors(opened.store, opened.settings.clock, embedder="sentence", load=tiny.load)
    holding.start()
    _until(lambda: asking.state().done == 1)
    tiny.refuses = lambda text: EmbedderFailedError.running("sentence", ValueError("no room")) if "x" in text else None
    try:
        assert asking.nearest("tokens").hits
        note = asking.nearest("x").note
    finally:
        holding.close()
    assert note is not None
    assert "no room" in str(note.facts)


def test_the_folder_and_what_is_in_it_are_for_one_user_and_what_a_killed_holder_left_is_replaced(
    opened: Engram, data_dir: Path
) -> None:
    path = socket_of(data_dir, NAME)
    path.parent.mkdir(mode=0o755)
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    holder, other = Holder(path, lambda request: request), Holder(path, lambda request: {})
    assert holder.take()
    assert holder.take()
    assert not other.take()
    assert exchange(path, {"echo": 1}, _soon()) == {"echo": 1}
    assert all(entry.stat().st_mode & 0o077 == 0 for entry in (path.parent, *path.parent.iterdir()))
    holder.close()
    assert not holder.take()
    assert other.take()
    other.close()
    assert not path.exists()


def test_where_no_holder_can_be_the_process_has_its_own_model(
    opened: Engram, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    vectors = Vectors(opened.store, opened.settings.clock, embedder="sentence", load=TinyEmbedder().load)
    vectors.start()
    _until(lambda: vectors.state().done == 1)
    assert vectors.nearest("tokens").hits
    assert Nearby(data_dir).nearest("tokens").hits == ()
    vectors.close()


def test_a_model_that_cannot_be_loaded_leaves_no_holder(opened: Engram, data_dir: Path) -> None:
    folder = data_dir / "models" / "sentence-minilm-l6-int8"
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(b"\x08\x07\x12\x04half")
    pytest.importorskip("onnxruntime", reason="the sentence lane needs what the extra vectors names")
    vectors = Vectors(opened.store, opened.settings.clock, embedder="sentence")
    vectors.start()
    assert "cannot be loaded" in str(vectors.state(ask=True).problem)
    _until(lambda: not socket_of(data_dir, NAME).exists())
    vectors.close()


def _soon() -> float:
    return time.monotonic() + 30


def _until(condition: Callable[[], bool]) -> None:
    moment = threading.Event()
    while not condition():
        moment.wait(0.01)
