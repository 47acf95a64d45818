"""A memory and a server that is told how to behave, made once for a module; each test has a project of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.settings import Settings
from engram_py.sharing.sync.autosync import login
from engram_py.sharing.sync.autosync.exchange import Exchange
from engram_py.sharing.sync.autosync.table import CloudStatus, CloudSynced
from tests.sharing.sync.autosync.team_server import TOKEN, TeamServer, team_server
from tests.support import FakeClock, draft

Joiner = Callable[[str], "Lab"]


@dataclass
class Lab:
    """One machine, logged in, whose project ``project`` goes to the server."""

    app: Engram
    team: TeamServer
    clock: FakeClock
    project: str = "widgets"
    exchange: Exchange = field(init=False)
    lanes: list[Exchange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.exchange = self.lane()

    def save(self, *titles: str, project: str = "", text: str = "") -> list[str]:
        """The sync ids of new observations."""
        drafts = [draft(text or f"What {title} is about.", title) for title in titles]
        ids = [self.app.save(one, project=project or self.project).id for one in drafts]
        return [self.app.get(one).observation.sync_id for one in ids]

    def other(self, access: str = "write", name: str = "other") -> str:
        """Another project, granted and enrolled."""
        project = f"{self.project}-{name}"
        self.team.grants[project] = access
        self.app.autosync.account.enroll([project])
        return project

    def titles(self) -> list[str]:
        sql = "select title from observations where project = :project and deleted_at is null order by title"
        return [row[0] for row in self.app.store.rows(sql, project=self.project)]

    def sent(self) -> list[str]:
        """The titles of the observations that the server has of the project, each as often as it has it."""
        rows = [row.entry for row in self.team.log.values() if row.entry["entity"] == "observation"]
        return sorted(row["payload"]["title"] for row in rows if row["project"] == self.project)

    def cursors(self, project: str = "") -> dict[str, Any]:
        sql = "select * from cloud_projects where project = :project"
        [row] = self.app.store.rows(sql, project=project or self.project)
        return {name: row[name] for name in ("pushed_seq", "pulled_seq", "seen_seq", "access")}

    def aside(self) -> list[tuple[str, str, str]]:
        """What was set aside: direction, key, code."""
        return sorted((one.direction, one.entity_key, one.reason_code) for one in self.status.set_aside)

    @property
    def status(self) -> CloudStatus:
        return self.app.autosync.status()

    def sync(self) -> CloudSynced:
        """One exchange, after whatever had to be waited for."""
        self.clock.advance(hours=2)
        done = self.exchange.once()
        assert done is not None
        return done

    def synced(self) -> CloudSynced:
        done = self.sync()
        assert done.outcome == "done", done
        return done

    def failed(self) -> CloudSynced:
        """One exchange that fails, and says so in the same words everywhere."""
        done = self.sync()
        assert done.outcome == "failed"
        assert done.next_step
        assert (self.status.reason_code, self.status.reason_message) == (done.reason_code, done.reason_message)
        return done

    def lane(self, *, whole_seconds: float = 5.0) -> Exchange:
        """What the thread of another process uses."""
        app = self.app
        made = Exchange(
            app.store, app.journal, lambda: app.replica, app.settings, chance=lambda: 0.5, whole_seconds=whole_seconds
        )
        self.lanes.append(made)
        return made

    def close(self) -> None:
        for one in self.lanes:
            one.close()


@pytest.fixture(scope="module", autouse=True)
def no_keychain() -> Iterator[None]:
    """The keychain of the developer's machine is nobody's playground."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(login, "_keep_in_keychain", lambda server, token: False)
        yield


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory, no_keychain: None) -> Iterator[Callable[[str], Lab]]:
    """Machines of this module, by name; each is made when it is first asked for. All share one server."""
    root = tmp_path_factory.mktemp("machines")
    known: dict[str, Lab] = {}
    with ExitStack() as stack:
        team = stack.enter_context(team_server())
        clock = FakeClock()

        def machine(name: str) -> Lab:
            if name not in known:
                known[name] = stack.enter_context(_machine(root / name, team, clock))
            return known[name]

        yield machine


class _machine:
    def __init__(self, folder: Path, team: TeamServer, clock: FakeClock) -> None:
        folder.mkdir()
        self._app = Engram(settings=Settings(folder / "data", clock=clock), directory=folder)
        self._lab = Lab(self._app, team, clock)

    def __enter__(self) -> Lab:
        return self._lab

    def __exit__(self, *_: object) -> None:
        self._lab.close()
        self._app.close()


_projects = iter(f"project-{number}" for number in range(1, 10_000))


@pytest.fixture
def join(machines: Callable[[str], Lab]) -> Joiner:
    """``join("a")``: the machine a, logged in with nothing waiting, and the test's project enrolled."""
    project = next(_projects)
    joined: list[Lab] = []

    def joining(name: str) -> Lab:
        lab = machines(name)
        lab.project = project
        if not joined:
            _as_new(lab.team)
            lab.clock.advance(days=1)
        lab.team.grants[project] = "write"
        lab.app.autosync.account.login(lab.team.address, TOKEN)
        for one in lab.app.autosync.account.enroll([project]).projects:
            if one != project:
                lab.app.autosync.account.unenroll([one])
        lab.close()
        lab.exchange = lab.lane()
        lab.team.asked.clear()
        joined.append(lab)
        return lab

    return joining


@pytest.fixture
def lab(join: Joiner) -> Lab:
    return join("a")


def _as_new(team: TeamServer) -> None:
    team.tricks.clear()
    team.always.clear()
    team.grants.clear()
    team.paused.clear()
    team.hidden.clear()
    team.reject.clear()
    team.bodies.clear()
    team.pauses.clear()
    team.every = ""
    team.tokens = {TOKEN}
    team.most_bytes = 8 * 2**20


def from_elsewhere(lab: Lab, key: str, title: str, *, at: int = 1, **payload: Any) -> dict[str, Any]:
    """An observation as another machine sends it."""
    told = {
        "sync_id": key, "session_id": "s-elsewhere", "type": "manual", "title": title, "content": f"About {title}.",
        "scope": "project", "project": lab.project, "created_at": "2026-01-01 10:00:00",
        "updated_at": "2026-01-01 10:00:00", **payload,
        "engram_py": {"format": 1, "clock": f"{1_767_000_000_000 + at:012x}-0000-00000000000000bb"},
    }  # fmt: skip
    entry = {"project": lab.project, "entity": "observation", "entity_key": key, "op": "upsert", "payload": told}
    return {**entry, "occurred_at": "2026-01-01T10:00:00.000Z"}
