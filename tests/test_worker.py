"""The background thread of a server process: when it looks, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from engram_py.base import worker
from engram_py.base.database.errors import DataDirError
from engram_py.base.worker import Periodic


def test_a_thread_without_an_interval_looks_when_it_is_woken_and_ends_at_once() -> None:
    looks, first, ended = [], threading.Semaphore(0), threading.Event()

    def look() -> None:
        looks.append(1)
        first.release()

    thread = Periodic(look, name="test", every=None, end=ended.set)
    thread.start()
    assert first.acquire(timeout=5)
    thread.wake()
    assert first.acquire(timeout=5)

    begun = time.monotonic()
    thread.stop(seconds=5)

    assert time.monotonic() - begun < 1
    assert ended.is_set()
    assert len(looks) == 2


def test_a_failed_look_is_not_repeated_with_every_wake() -> None:
    looked = threading.Semaphore(0)

    def look() -> None:
        looked.release()
        raise ValueError("a bug")

    thread = Periodic(look, name="test", every=None)
    thread.start()
    assert looked.acquire(timeout=5)
    thread.wake()
    assert not looked.acquire(timeout=0.2)
    thread.stop(seconds=5)


def test_a_store_that_is_busy_is_asked_again_after_the_interval() -> None:
    looked = threading.Semaphore(0)

    def look() -> None:
        looked.release()
        raise DataDirError("/memory", "no space is left")

    thread = Periodic(look, name="test", every=0.01)
    thread.start()
    assert looked.acquire(timeout=5)
    assert looked.acquire(timeout=5)
    thread.stop(seconds=5)


def test_a_look_that_stops_its_own_thread_does_not_wait_for_itself() -> None:
    ended = threading.Event()
    thread = Periodic(lambda: thread.stop(seconds=60), name="test", end=ended.set)
    thread.start()
    assert ended.wait(5)


def test_a_waiting_thread_keeps_no_process_alive() -> None:
    code = f"from {worker.__name__} import Periodic; Periodic(lambda: None, name='test', every=None).start()"
    subprocess.run([sys.executable, "-c", code], timeout=30, check=True)
