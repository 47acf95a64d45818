"""The thread of a server process: when it syncs, and that it is in nobody's way."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engram_py.sharing.sync.autosync import schedule as schedule_module
from engram_py.sharing.sync.autosync.schedule import LOOK_SECONDS, SyncWorker
from engram_py.sharing.sync.autosync.service import Autosync
from tests.sharing.sync.autosync.conftest import Joiner, Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import Request

LIST, PUSH, PULL = "/sync/projects", "/sync/mutations/push", "/sync/mutations/pull"


def worker(lab: Lab) -> SyncWorker:
    """Without its thread: the test looks for it."""
    return SyncWorker(lab.app.store, lab.app.journal, lab.app.settings, lambda stopped: lab.exchange)


@contextmanager
def background(lab: Lab) -> Iterator[Autosync]:
    autosync = Autosync(lab.app.core, lambda: lab.app.replica)
    autosync.start()
    try:
        yield autosync
    finally:
        autosync.stop()
        lab.app.store.after_write.clear()


class Seen:
    """Waits until the server has been asked for something."""

    def __init__(self, lab: Lab, part: str) -> None:
        self._event = threading.Event()
        lab.team.always[part] = self._note

    def _note(self, _: Request) -> bool:
        self._event.set()
        return False

    def wait(self) -> None:
        assert self._event.wait(30), "nothing came"
        self._event.clear()


def test_it_syncs_at_once_then_after_writes_and_every_half_minute(lab: Lab) -> None:
    thread = worker(lab)
    lab.save("one")
    assert thread.look() == LOOK_SECONDS
    assert lab.sent() == ["one"]
    thread.look()  # the rows that were sent are known now
    lab.team.asked.clear()

    assert thread.look() == LOOK_SECONDS
    assert lab.team.asked == []
    lab.save("two")
    thread.look()
    assert lab.sent() == ["one", "two"]
    lab.team.asked.clear()
    lab.team.add(from_elsewhere(lab, f"obs-{lab.project}", "three"))
    lab.clock.advance(seconds=29)
    thread.look()
    assert lab.team.asked == []
    lab.clock.advance(seconds=1)
    thread.look()
    assert lab.titles() == ["one", "three", "two"]


def test_of_many_processes_one_asks_every_half_minute(lab: Lab) -> None:
    lab.synced()
    crowd = [SyncWorker(lab.app.store, lab.app.journal, lab.app.settings, lambda stopped: lab.lane()) for _ in range(4)]
    for one in crowd:
        one.look()
    lab.team.asked.clear()
    lab.clock.advance(seconds=31)

    for one in crowd:
        one.look()

    assert lab.team.asked == [("GET", LIST)]


def test_after_a_failure_it_waits_as_long_as_the_server_and_the_backoff_say(lab: Lab) -> None:
    thread = worker(lab)
    lab.save("one")
    lab.team.play(PUSH, lambda request: request.raw(b"", 429, Retry_After="120"))
    thread.look()
    lab.clock.advance(seconds=100)
    thread.look()
    assert lab.team.counts()[PUSH] == 1
    lab.clock.advance(seconds=21)
    thread.look()
    assert lab.sent() == ["one"]

    lab.team.always[PUSH] = lambda request: request.raw(b"", 500)
    lab.save("two")
    waits = []
    for _ in range(4):
        waits.append(thread.look())
        lab.clock.advance(seconds=waits[-1])
    assert waits[:3] == [1, 2, 4]
    lab.team.asked.clear()
    lab.clock.advance(seconds=-1)
    lab.save("three")
    thread.look()
    assert lab.team.counts()[PUSH] == 0


def test_a_bug_in_a_cycle_is_waited_out_and_said(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from engram_py.sharing.sync.replica.replica import Replica

    thread = worker(lab)
    lab.save("one")
    with monkeypatch.context() as patch:
        patch.setattr(Replica, "changes", lambda *_, **__: 1 / 0)
        assert thread.look() == 1
    assert (lab.status.phase, lab.status.reason_code) == ("push_failed", "internal_error")
    assert "ZeroDivisionError" in lab.status.reason_message

    lab.clock.advance(seconds=2)
    thread.look()
    assert (lab.status.phase, lab.sent()) == ("healthy", ["one"])


def test_a_write_wakes_the_thread_and_another_machine_comes_to_hold_the_same(
    join: Joiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule_module, "DEBOUNCE_SECONDS", 0.01)
    here, there = join("a"), join("b")
    seen = Seen(here, PUSH)
    with background(here):
        here.save("one")
        seen.wait()
        here.save("two")
        seen.wait()
    assert here.sent() == ["one", "two"]
    applied = threading.Event()
    there.app.store.after_write.append(lambda: applied.set() if len(there.titles()) == 2 else None)
    with background(there):
        assert applied.wait(30)


def test_a_slow_server_keeps_no_local_write_waiting(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "DEBOUNCE_SECONDS", 0.01)
    asked, answer = threading.Event(), threading.Event()

    def holds_back(_: Request) -> bool:
        asked.set()
        answer.wait(30)
        return False

    lab.team.play(PUSH, holds_back)
    with background(lab):
        lab.save("one")
        assert asked.wait(30)
        lab.save("two")  # would not return while the server holds its answer back
        assert lab.titles() == ["one", "two"]
        answer.set()


def test_what_was_written_last_is_sent_before_the_process_ends(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "DEBOUNCE_SECONDS", 3600.0)
    lab.synced()
    seen = Seen(lab, LIST)
    with background(lab):
        lab.clock.advance(minutes=1)
        seen.wait()
        lab.save("the last words")
    assert lab.sent() == ["the last words"]


def test_what_the_thread_writes_itself_does_not_wake_it(lab: Lab) -> None:
    woken: list[bool] = []
    looked = threading.Event()

    class Writes:
        more = False

        def once(self) -> None:
            with lab.app.store.transaction():
                pass
            woken.append(thread._thread._woken.is_set())
            looked.set()

        def last(self) -> None: ...

        def release(self) -> None: ...

        def close(self) -> None: ...

    exchange: Any = Writes()
    thread: Any = SyncWorker(lab.app.store, lab.app.journal, lab.app.settings, lambda stopped: exchange)
    thread.start()
    assert looked.wait(30)
    thread.stop(seconds=30)
    lab.app.store.after_write.clear()
    assert woken == [False]


def test_logged_out_it_asks_nobody_and_a_login_is_noticed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_module, "DEBOUNCE_SECONDS", 0.01)
    lab.app.autosync.account.logout()
    thread = worker(lab)
    lab.save("one")
    assert not thread.is_on
    assert thread._look() is None
    thread.wake()
    assert not thread._thread._woken.is_set()
    assert lab.team.asked == []

    lab.app.autosync.account.login(lab.team.address, next(iter(lab.team.tokens)))

    assert thread.is_on
    thread.look()
    assert lab.sent() == ["one"]


def test_switched_off_it_does_not_even_start(lab: Lab) -> None:
    core = replace(lab.app.core, settings=replace(lab.app.settings, cloud_autosync=False))
    off = Autosync(core, lambda: lab.app.replica)
    off.start()
    assert "engram-autosync" not in {thread.name for thread in threading.enumerate()}
    assert off.status().phase == "disabled"
    off.stop()


_PROBE = """
import json, sys
from pathlib import Path
from engram_py import Engram, Draft
app = Engram(Path(sys.argv[1]), project="widgets", session_mode="process")
app.autosync.start()
app.save(Draft("A title", "A text"))
app.autosync.stop()
app.close()
print(json.dumps(sorted(sys.modules)))
"""


def test_a_process_that_is_logged_in_nowhere_imports_nothing_for_it(tmp_path: Path) -> None:
    import json

    command = [sys.executable, "-c", _PROBE, str(tmp_path / "data")]
    subprocess.run(command, check=True, capture_output=True)  # makes the file
    done = subprocess.run(command, check=True, capture_output=True, text=True)

    loaded: Any = set(json.loads(done.stdout))
    heavy = {
        "httpx",
        "ssl",
        "keyring",
        "engram_py.sharing.sync.autosync.exchange",
        "engram_py.sharing.sync.autosync.client",
    }
    assert not loaded & heavy
