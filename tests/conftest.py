"""Fixtures every test shares: a memory in a temporary folder, and a git that reads nobody's configuration."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import template
from tests.support import alarms, app, clock, git, here, make_repo, open_memory, root

__all__ = ["alarms", "app", "clock", "git", "here", "make_repo", "open_memory", "root"]

# How long an example takes says how busy the machine is. `make soak` gives the same properties more examples.
settings.register_profile("engram", deadline=None, max_examples=25)
settings.register_profile("soak", deadline=None, max_examples=500)
settings.load_profile("engram")

_NUMBERS = itertools.count()

# Processes that tests start by the hundred read what the first one compiled, whatever this shell is told.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The workers and what they start write and name files in UTF-8, as nearly every machine does.
os.environ["LC_ALL"] = "C.UTF-8"

# A shell that runs the tests in the background has them ignore Ctrl-C, and whatever they start with them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def room_in_memory() -> str | None:
    """Where the tests' files need not reach a disk: SQLite and git wait for one thousands of times."""
    with contextlib.suppress(OSError, AttributeError):
        found = os.statvfs("/dev/shm")
        if not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > 2 << 30:
            return "/dev/shm"
    return None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "migrates: the files of these tests are made and migrated, not copied")
    if room := room_in_memory():
        tempfile.tempdir = room  # examples of hypothesis make folders of their own
        if config.option.basetemp is None:
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", room)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are processors: tests wait for processes, locks and alarms a third of their time."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest, as what is about the whole program, is begun first: begun last, one worker waits for it."""
    long = ("test_convergence.py", "test_server.py")
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent and item.path.name not in long)


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Nothing that somebody set on this machine decides a test, nor a server that several tests share."""
    nobodys = tmp_path_factory.mktemp("nobodys")
    umask = os.umask(0o022)
    with pytest.MonkeyPatch.context() as patch:
        others = ("ENGRAM_", "GIT_", "XDG_")
        for name in [one for one in os.environ if one.startswith(others) and one != "ENGRAM_BENCH_DATA"]:
            patch.delenv(name)
        (nobodys / "home").mkdir()
        patch.setenv("HOME", str(nobodys / "home"))
        patch.setenv("TZ", "UTC")
        patch.setenv("ENGRAM_DATA_DIR", str(nobodys / "data"))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_TEMPLATE_DIR", str(nobodys / "git"))
        for name in ("hooks", "info"):  # without the examples of hooks that each repository gets
            (nobodys / "git" / name).mkdir(parents=True)
        template.copy_instead_of_migrating(patch)
        _use_zone()
        yield nobodys
    _use_zone()
    os.umask(umask)


def _use_zone() -> None:
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.fixture(autouse=True)
def own_memory(request: pytest.FixtureRequest, clean_environment: Path) -> Iterator[None]:
    """Whoever is not told otherwise, a process included, finds the memory of this test.

    A new file is a copy of one that was migrated before: migrating takes longer than most tests. A test about a new
    file is marked ``migrates``: its file is made by the product.
    """
    named = "tmp_path" in request.fixturenames
    room = request.getfixturevalue("tmp_path") if named else clean_environment / str(next(_NUMBERS))
    os.environ["ENGRAM_DATA_DIR"] = str(room / "data")
    template.copied = request.node.get_closest_marker("migrates") is None
    yield
    os.environ["ENGRAM_DATA_DIR"] = str(clean_environment / "data")
    template.copied = False


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder called widgets, so that is the project."""
    path = tmp_path / "widgets"
    path.mkdir()
    return path
