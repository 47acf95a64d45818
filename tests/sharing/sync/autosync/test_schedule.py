"""When it is synced: backoff, the lease among processes, and what a hook starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.database.runs import NamedLease
from engram_py.base.settings import Settings
from engram_py.base.times import passed, to_text
from engram_py.sharing.sync.autosync.schedule import QUIET_SECONDS, begin, delay, is_due, remaining
from tests.sharing.sync.autosync.conftest import Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import Request
from tests.support import FakeClock

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


def text(**away: float) -> str:
    return to_text(NOW + timedelta(**away))


def test_the_wait_doubles_up_to_five_minutes_and_what_the_server_asked_for_is_the_least() -> None:
    assert [delay(failures, chance=0.5) for failures in (1, 2, 3, 4)] == [1, 2, 4, 8]
    assert [delay(3, chance=chance) for chance in (0.0, 0.5, 1.0)] == [3, 4, 5]
    assert delay(10_000, chance=1.0) == 300
    assert delay(10_000, chance=0.0) == 180
    assert delay(1, chance=0.5, retry_after=77) == 77
    assert delay(9, chance=0.5, retry_after=1) > 100
    assert delay(1, chance=0.5, retry_after=86_400) == 3_600


@pytest.mark.parametrize(
    ("until", "left"),
    [
        pytest.param(text(seconds=10), 10, id="ahead"),
        pytest.param(text(seconds=-10), 0, id="over"),
        pytest.param(text(days=400), 0, id="from-a-clock-that-was-wrong"),
        pytest.param(None, 0, id="none"),
        pytest.param("nonsense", 0, id="no-time"),
    ],
)
def test_a_moment_that_nobody_would_have_set_is_not_waited_for(until: str | None, left: float) -> None:
    assert remaining(until, NOW, most=60) == left


def test_a_moment_of_the_future_was_long_ago() -> None:
    assert passed(text(days=3), NOW, seconds=30)
    assert passed(text(seconds=-30), NOW, seconds=30)
    assert not passed(text(seconds=-29), NOW, seconds=30)
    assert passed(None, NOW, seconds=30)


PUSH, LIST = "/sync/mutations/push", "/sync/projects"


def due(lab: Lab, *, last: bool = False) -> bool:
    return is_due(lab.app.store, lab.app.settings, lab.app.journal.moment(), last=last)


def test_it_is_due_when_nobody_has_synced_for_a_while_and_no_backoff_runs(lab: Lab) -> None:
    assert due(lab)
    lab.synced()
    assert not due(lab)
    lab.clock.advance(seconds=QUIET_SECONDS)
    assert due(lab)
    begin(lab.app.store, lab.app.journal.moment())
    assert not due(lab)

    lab.save("one")
    for part in (LIST, PUSH):
        lab.team.always[part] = lambda request: request.raw(b"", 503, Retry_After="600")
    lab.failed()
    lab.clock.advance(seconds=599)
    assert not due(lab, last=True)
    lab.clock.advance(seconds=2)
    assert due(lab, last=True)


def test_at_the_end_of_a_session_it_is_due_only_with_something_that_may_be_sent(lab: Lab) -> None:
    lab.save("one")
    lab.synced()
    lab.team.add(from_elsewhere(lab, f"obs-{lab.project}", "theirs"))
    lab.synced()  # what came from there does not go back
    assert not due(lab, last=True)
    lab.save("other", project="not-enrolled")
    assert not due(lab, last=True)
    lab.save("two")
    assert (due(lab, last=True), due(lab)) == (True, False)

    for access, server in (("read", lab.team.address), ("write", "https://elsewhere.example")):
        with lab.app.store.transaction():
            sql = "update cloud_projects set access = :access, server = :server"
            lab.app.store.execute(sql, access=access, server=server)
        assert not due(lab, last=True)


def test_catching_up_goes_on_until_both_are_at_their_ends(lab: Lab) -> None:
    lab.save(*[f"note {number}" for number in range(30)])
    lab.team.most_bytes = 4_000  # a dozen pages

    lab.app.autosync.catch_up(seconds=60)

    assert len(lab.sent()) == 30


# Takes part for the lease when its standard input is told to, and says how often it got it and who had it meanwhile.
COMPETITOR = """
import sys
from pathlib import Path
from engram_py import Engram
from engram_py.base.database.runs import NamedLease
app = Engram(Path(sys.argv[1]), project="widgets")
lease, mine = NamedLease(app.store, app.journal, "cloud"), 0
marker = Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
while mine < 40:
    with lease.holding() as renew:
        if renew is None:
            continue
        descriptor = marker.open("x")  # fails when the other process is inside
        renew()
        descriptor.close()
        marker.unlink()
        mine += 1
print(mine)
"""

# One exchange that never gets its answer: the process is killed while the server holds it back.
SENDER = """
import sys
from pathlib import Path
from engram_py import Engram
with Engram(Path(sys.argv[1]), project="widgets") as app:
    app.autosync.sync_now()
"""


def leases(lab: Lab) -> tuple[NamedLease, NamedLease]:
    one, other = (NamedLease(lab.app.store, lab.app.journal, "cloud") for _ in range(2))
    return one, other


def test_two_processes_are_never_inside_at_once(tmp_path: Path) -> None:
    Engram(tmp_path / "data", project="widgets").close()
    command = [sys.executable, "-c", COMPETITOR, str(tmp_path / "data"), str(tmp_path / "inside")]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for one in started:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in started:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()

    outcomes = [one.communicate(timeout=60) for one in started]

    assert [said.strip() for said, _ in outcomes] == ["40", "40"]
    assert [one.returncode for one in started] == [0, 0]


def test_the_lease_of_a_dead_process_or_of_a_wrong_clock_holds_nobody_up(lab: Lab) -> None:
    dead, other = leases(lab)
    assert dead._take()
    with other.holding() as renew:
        assert renew is None
    lab.clock.advance(seconds=61)
    with other.holding() as renew:
        assert renew is not None
        with dead.holding() as late:
            assert late is None
    lab.clock.advance(days=400)
    assert dead._take()
    lab.clock.advance(days=-400)
    with other.holding() as renew:
        assert renew is not None


@pytest.mark.skipif(sys.platform == "win32", reason="who lives is not asked there")
def test_who_was_killed_with_it_is_not_waited_for(lab: Lab) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    dead, other = leases(lab)
    dead._owner = f"{process.pid}-12345678"
    assert dead._take()

    with other.holding() as renew:
        assert renew is not None


def test_who_was_away_for_too_long_finds_that_it_lost_the_lease(lab: Lab) -> None:
    slow, other = leases(lab)
    with slow.holding() as renew:
        assert renew is not None
        lab.clock.advance(seconds=61)
        assert other._take()
        assert not renew()
    with slow.holding() as again:
        assert again is None  # and its end did not take the other's lease away
    other.release()


def test_while_another_process_is_at_it_nothing_is_asked(lab: Lab) -> None:
    lab.save("one")
    other, _ = leases(lab)
    with other.holding():
        done = lab.exchange.once()
        assert done is not None
        assert (done.outcome, lab.team.asked) == ("busy", [])
    lab.synced()
    assert lab.sent() == ["one"]


def test_kill_9_between_push_and_acknowledge_loses_nothing_and_doubles_nothing(lab: Lab, tmp_path: Path) -> None:
    data_dir = tmp_path / "killed"
    with Engram(settings=Settings(data_dir), directory=tmp_path, project=lab.project) as app:
        app.autosync.account.login(lab.team.address, next(iter(lab.team.tokens)))
        app.autosync.account.enroll([lab.project])
        killed = Lab(app, lab.team, FakeClock(), lab.project)
        killed.save("one", "two")
        killed.exchange.close()
    process = subprocess.Popen([sys.executable, "-c", SENDER, str(data_dir)])

    def takes_and_kills(request: Request) -> None:
        for entry in request.json["entries"]:
            lab.team.add(entry)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        request.hang_up()

    lab.team.play(PUSH, takes_and_kills)
    assert process.wait(timeout=60) == -signal.SIGKILL

    later = FakeClock()
    later.advance(days=400)
    with Engram(settings=Settings(data_dir, clock=later), directory=tmp_path, project=lab.project) as app:
        done = app.autosync.sync_now()
        assert done.outcome == "done"
        assert app.autosync.status().pending == 0
    assert lab.sent() == ["one", "two"]
