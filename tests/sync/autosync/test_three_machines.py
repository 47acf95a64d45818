"""Three machines that write at once, over a network that drops, with processes that are killed: equal in the end."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.config import Settings
from tests.sync.autosync.team_server import TOKEN, team_server
from tests.sync.machines.proxy import proxy

pytestmark = pytest.mark.soak

ROUNDS = 6
REQUESTS = 40  # that arrive at the server before the writers of a round are killed

# Writes without end, syncing in the background, and says what was answered. It is killed somewhere in between.
WRITER = """
import random, sys, threading
from pathlib import Path
from engram_py import Draft, Engram
from engram_py.sync.autosync import schedule
from engram_py.sync.autosync import worker
# Otherwise most of the time would be spent waiting for the lease of who was killed, and after failures.
worker.DEBOUNCE_SECONDS, schedule.LEASE_SECONDS = 0.02, 0.5
schedule.FIRST_SECONDS, schedule.LONGEST_SECONDS = 0.02, 0.2
name, dice = sys.argv[2], random.Random(sys.argv[3])
app = Engram(Path(sys.argv[1]), project="widgets", session_mode="process")
app.autosync.start()
mine = []
number = 0
pace = threading.Event()
while not pace.wait(0.03):
    number += 1
    title = f"{name} {sys.argv[3]} {number}"
    if mine and dice.random() < 0.2:
        gone = mine.pop(dice.randrange(len(mine)))
        print("delete", gone[1], flush=True)
        app.observations.delete(gone[0], hard=dice.random() < 0.5)
    topic = f"topic/{dice.randrange(5)}" if dice.random() < 0.3 else None
    saved = app.save(Draft(title, f"{title} says {dice.random()}.", topic_key=topic))
    if topic is None:
        mine.append((saved.id, title))
        print("saved", title, flush=True)
    else:
        print("topic", title, flush=True)
"""


def test_nothing_answered_is_lost_and_all_hold_the_same(tmp_path: Path) -> None:
    dice = random.Random(5)
    names = ("ada", "bob", "eve")
    kept: set[str] = set()
    gone: set[str] = set()
    with team_server(grants={"widgets": "write"}) as team, proxy(5) as network:
        network.upstream = ("127.0.0.1", int(team.address.rpartition(":")[2]))
        for name in names:
            with machine(tmp_path / name) as app:
                app.autosync.account.login(network.address, TOKEN)
                app.autosync.account.enroll(["widgets"])
        network.trouble = 0.5
        for turn in range(ROUNDS):
            writers = [start(tmp_path / name, name, str(turn)) for name in names]
            readers = [threading.Thread(target=note_all, args=(one, kept, gone)) for one in writers]
            for reader in readers:
                reader.start()
            enough = len(team.asked) + REQUESTS + dice.randrange(20)
            while len(team.asked) < enough:
                assert all(one.poll() is None for one in writers)
                threading.Event().wait(0.02)
            for one, reader in zip(writers, readers, strict=True):
                one.kill()
                reader.join()
                one.communicate()
        assert network.broken > 0
        network.trouble = 0.0
        digests, titles = settle([tmp_path / name for name in names])

    assert len(set(digests)) == 1
    assert len(kept) > 50
    assert kept - gone <= titles


def note_all(process: subprocess.Popen[str], kept: set[str], gone: set[str]) -> None:
    """What a writer was answered, until it is no more. Its last line may be half of one."""
    assert process.stdout is not None
    for line in process.stdout:
        verb, _, title = line.rstrip("\n").partition(" ")
        if verb == "saved" and line.endswith("\n"):
            kept.add(title)
        elif verb == "delete":
            gone.add(title)


def start(data_dir: Path, name: str, seed: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(data_dir), name, seed], stdout=subprocess.PIPE, text=True
    )


def settle(folders: list[Path]) -> tuple[list[str], set[str]]:
    """Quiet: everybody syncs until nobody has anything new; the digests, and the titles of one of them."""
    for _ in range(3):
        for folder in folders:
            with machine(folder) as app:
                with app.store.transaction():  # of a killed process
                    app.store.execute("update sync_state set lease_owner = null")
                assert app.autosync.sync_now().outcome == "done"
    digests = []
    for folder in folders:
        with machine(folder) as app:
            digests.append(app.replica.digest().value)
            rows = app.store.rows("select title from observations where deleted_at is null")
    return digests, {row[0] for row in rows}


@contextmanager
def machine(data_dir: Path) -> Iterator[Engram]:
    with Engram(settings=Settings(data_dir), directory=data_dir.parent, project="widgets") as app:
        yield app
