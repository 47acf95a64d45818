"""Three machines, one bare repository and one server, while writers are killed and the network is cut.

The desk and the laptop share the server, the laptop and the tower the repository: what the desk says reaches the tower
through the laptop. ``ENGRAM_SOAK_SECONDS`` says how long it goes on.
"""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.settings import Settings
from tests.cloud.asking import Running, server_process
from tests.cloud.cluster import cluster
from tests.sharing.sync.machines.proxy import Proxy, proxy

pytestmark = [pytest.mark.soak, pytest.mark.postgres, pytest.mark.timeout(1500)]

SECONDS = float(os.environ.get("ENGRAM_SOAK_SECONDS", "120"))
QUIET_ROUNDS = 30
PROJECT = "shop"


@dataclass
class Computer:
    name: str
    data_dir: Path
    clone: Path
    writer: subprocess.Popen[bytes] | None = None
    started: int = 0
    pulled: list[str] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.data_dir.parent / f"{self.name}.log"

    @property
    def environment(self) -> dict[str, str]:
        mine = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
        # The keychain of the machine the tests run on is none of their business.
        return {
            **mine,
            "ENGRAM_DATA_DIR": str(self.data_dir),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }

    def write(self) -> None:
        self.started += 1
        script = Path(__file__).with_name("writer.py")
        paths = (script, self.data_dir, self.clone)
        command = [sys.executable, *map(str, paths), f"{self.name}{self.started}", str(self.log)]
        self.writer = subprocess.Popen(command, env=self.environment, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.writer is not None:
            self.writer.kill()
            self.writer.wait(30)
            self.writer = None

    def engram(self, *arguments: str, stdin: str = "", kill_after: float | None = None) -> str:
        process = subprocess.Popen(
            [sys.executable, "-m", "engram_py", *arguments],
            cwd=self.clone,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            out, said = process.communicate(stdin, timeout=kill_after or 120)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            if kill_after is None:
                raise
            return ""
        assert "Traceback" not in said, said
        return out

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *arguments], cwd=self.clone, env=self.environment, capture_output=True, text=True, check=False
        )

    def through_git(self, kill_after: float | None = None) -> None:
        """Export, commit, pull, import, push, as somebody would who never reads what git says."""
        self.engram("sync", "--format", "chunks", kill_after=kill_after)
        self.git("add", "-A")
        self.git("commit", "-qm", "memory")
        pulled = self.git("pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
        if pulled.returncode:  # the manifest may conflict; it is made of the chunks, so either side will do
            self.git("checkout", "--ours", ".engram/manifest.json")
            self.engram("sync", "--format", "chunks")
            self.git("add", "-A")
            self.git("commit", "-qm", "merge")
        self.engram("sync", "--format", "chunks", kill_after=kill_after)
        self.git("add", "-A")
        self.git("commit", "-qm", "memory again")
        self.git("push", "-q", "origin", "HEAD:main")

    def digest(self) -> str:
        with Engram(settings=Settings(self.data_dir), directory=self.clone) as app:
            return app.replica.digest().value

    def texts(self) -> set[str]:
        with Engram(settings=Settings(self.data_dir), directory=self.clone) as app:
            sql = "select content from observations union select content from observation_versions"
            return {row[0] for row in app.store.rows(sql)}

    def destroyed(self) -> set[str]:
        with Engram(settings=Settings(self.data_dir), directory=self.clone) as app:
            return {row[0] for row in app.store.rows("select entity_key from tombstones where entity = 'observation'")}


@pytest.fixture
def computers(tmp_path: Path) -> Iterator[list[Computer]]:
    bare = tmp_path / "shop.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    made: list[Computer] = []
    for name in ("desk", "laptop", "tower"):
        clone = tmp_path / name / "shop"
        subprocess.run(["git", "clone", "-q", str(bare), str(clone)], check=True, capture_output=True)
        computer = Computer(name, tmp_path / name / "data", clone)
        computer.git("checkout", "-q", "-B", "main")
        computer.git("config", "user.email", f"{name}@example.com")
        computer.git("config", "user.name", name)
        made.append(computer)
    (made[0].clone / "README").write_text("a shop\n")
    made[0].git("add", "-A")
    made[0].git("commit", "-qm", "start")
    made[0].git("push", "-q", "origin", "main")
    for computer in made[1:]:
        computer.git("pull", "-q", "origin", "main")
    try:
        yield made
    finally:
        for computer in made:
            computer.kill()


@pytest.mark.skipif(os.name == "nt", reason="kills processes by a POSIX signal")
def test_three_machines_are_equal_after_kills_and_cuts_and_lost_no_text(computers: list[Computer]) -> None:
    desk, laptop, tower = computers
    dice = random.Random(20261121)
    with ExitStack() as stack:
        url = stack.enter_context(cluster()).create()
        network = stack.enter_context(proxy(1))
        servers = stack.enter_context(closing(Servers(url, network)))
        account = servers.start().account(write=[PROJECT])
        for computer in (desk, laptop):
            computer.engram("cloud", "login", "--server", network.address, "--token", "-", stdin=account.token)
            computer.engram("cloud", "enroll", PROJECT)
        _trouble(computers, network, servers, dice)
        for computer in computers:
            computer.kill()
        network.trouble = 0.0
        servers.start()
        _until_quiet(desk, laptop, tower)
    assert len({computer.digest() for computer in computers}) == 1
    written = [line.split("\t") for one in computers for line in one.log.read_text().splitlines()]
    destroyed = {sync_id for verb, sync_id, _ in written if verb == "destroys"} & tower.destroyed()
    texts = tower.texts()
    lost = [
        text for verb, sync_id, text in written if verb == "wrote" and sync_id not in destroyed and text not in texts
    ]
    assert not lost
    assert sum(verb == "wrote" for verb, *_ in written) > 50


class Servers:
    """The server, started anew whenever it was killed; always behind the same proxy."""

    def __init__(self, url: str, network: Proxy) -> None:
        self._url, self._network = url, network
        self._running = ExitStack()

    def start(self) -> Running:
        self.close()
        _, running = self._running.enter_context(server_process(self._url))
        host, port = running.address.removeprefix("http://").rsplit(":", 1)
        self._network.upstream = (host, int(port))
        return running

    def close(self) -> None:
        """``kill -9``, in the middle of whatever it does."""
        self._network.upstream = None
        self._running.close()
        self._running = ExitStack()


def _trouble(computers: list[Computer], network: Proxy, servers: Servers, dice: random.Random) -> None:
    network.trouble = 0.4
    desk, laptop, tower = computers
    end = time.monotonic() + SECONDS
    for turn in itertools.count():
        if time.monotonic() > end:
            return
        for computer in computers:
            if computer.writer is None:
                computer.write()
        kill_after = dice.choice((None, None, 0.3, 0.6, 1.0))
        match dice.randrange(5):
            case 0:
                desk.engram("sync", "--cloud", kill_after=kill_after)
            case 1:
                laptop.engram("sync", "--cloud", kill_after=kill_after)
            case 2:
                laptop.through_git(kill_after)
            case 3:
                tower.through_git(kill_after)
            case _:
                dice.choice(computers).kill()
        network.cut()
        if turn % 7 == 6:
            servers.start()


def _until_quiet(desk: Computer, laptop: Computer, tower: Computer) -> None:
    for _ in range(QUIET_ROUNDS):
        desk.engram("sync", "--cloud")
        laptop.engram("sync", "--cloud")
        laptop.through_git()
        tower.through_git()
        laptop.through_git()
        laptop.engram("sync", "--cloud")
        desk.engram("sync", "--cloud")
        if len({desk.digest(), laptop.digest(), tower.digest()}) == 1:
            return
