"""``engram open`` and the page as a real server sends it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import psutil  # type: ignore[import-untyped]
import pytest

from engram_py import Draft, Engram
from engram_py.settings import Settings
from tests.interfaces.http.asking import serving
from tests.interfaces.web.test_hostile import EVIL, TITLE, check
from tests.interfaces.web.visiting import Visitor


def run_open(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engram_py", "open", "--print", *arguments],
        cwd=folder,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def path_of(link: str) -> str:
    return link.strip().partition("/ui/")[1] + link.strip().partition("/ui/")[2]


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.fixture
def memory(data_dir: Path, folder: Path) -> int:
    """The id of a hostile memory of this folder's project."""
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        return app.save(Draft(TITLE, EVIL, "note")).id


def test_a_real_server_shows_a_hostile_memory_edits_and_deletes_it(folder: Path, memory: int) -> None:
    with serving(folder) as server:
        visitor = Visitor(server.browse, f"http://127.0.0.1:{server.port}")
        assert visitor.look("/ui/").status == 401
        link = run_open(folder, "--port", str(server.port))
        assert link.returncode == 0, link.stderr
        home = visitor.look(path_of(link.stdout))
        assert home.path == "/ui/?project=widgets"
        for path in (home.path, f"/ui/memory/{memory}", f"/ui/memory/{memory}/edit", "/ui/?q=tea", "/ui/timeline"):
            check(visitor.look(path))
        done = visitor.press(visitor.look(f"/ui/memory/{memory}/edit"), "Save", content="Second shelf.")
        assert "Second shelf." in visitor.press(visitor.press(done, "Delete"), "Restore").text
        foreign = {"origin": "https://evil.example"}
        assert visitor.raw("POST", f"/ui/memory/{memory}/delete", {}, foreign).status == 403
        assert visitor.raw("HEAD", "/ui/").body == b""
        code, log = server.end()
        assert (code, "Traceback" in log) == (0, False), log


@pytest.fixture
def ended_afterwards(data_dir: Path, free_port: int) -> Iterator[int]:
    """A port; what was started there is ended by its own process id."""
    yield free_port
    for connection in psutil.net_connections("tcp4"):
        if connection.laddr and connection.laddr.port == free_port and connection.status == psutil.CONN_LISTEN:
            assert connection.pid is not None
            with contextlib.suppress(ProcessLookupError):
                os.kill(connection.pid, signal.SIGTERM)
                psutil.Process(connection.pid).wait(20)


def test_open_starts_a_server_where_none_is_and_uses_it_again(folder: Path, memory: int, ended_afterwards: int) -> None:
    first = run_open(folder, "--port", str(ended_afterwards))
    again = run_open(folder, "--port", str(ended_afterwards))
    assert (first.returncode, again.returncode) == (0, 0), first.stderr + again.stderr
    assert first.stdout != again.stdout
    value = json.loads(run_open(folder, "--port", str(ended_afterwards), "--json").stdout)
    assert value["link"].startswith(f"http://127.0.0.1:{value['port']}/ui/enter?token=")
    assert first.stdout.startswith(f"http://127.0.0.1:{ended_afterwards}/ui/enter?token=")


@pytest.mark.skipif(os.name != "posix", reason="the stand-in of a browser is a shell script")
def test_no_secret_stands_in_the_words_that_a_browser_is_started_with(
    folder: Path, memory: int, data_dir: Path, tmp_path: Path
) -> None:
    words, browser = tmp_path / "words", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {words}\n')
    browser.chmod(0o700)
    with serving(folder) as server:
        done = subprocess.run(
            [sys.executable, "-m", "engram_py", "open", "--port", str(server.port)],
            cwd=folder, env={**os.environ, "BROWSER": str(browser)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "token=" in done.stdout
        page = Path(unquote(words.read_text().strip().removeprefix("file://")))
        assert done.stdout.strip().partition("token=")[2].partition("&")[0] in page.read_text()
        assert "token" not in words.read_text()
        assert page.parent.parent == data_dir


def test_open_refuses_a_port_of_another_memory_or_program(folder: Path, memory: int, tmp_path: Path) -> None:
    with serving(folder, "0", ENGRAM_DATA_DIR=str(tmp_path / "other")) as other:
        refused = run_open(folder, "--port", str(other.port))
    assert refused.returncode == 1
    assert "serves another memory" in refused.stderr
    assert "engram open --port" in refused.stderr
    with socket.create_server(("127.0.0.1", 0)) as silent:
        refused = run_open(folder, "--port", str(silent.getsockname()[1]))
    assert refused.returncode == 1
    assert "another program" in refused.stderr


def test_open_says_where_a_server_has_no_page(folder: Path, memory: int) -> None:
    """One that other machines can reach has none."""
    with serving(folder, "0", "--host", "0.0.0.0", ENGRAM_HTTP_TOKEN="swordfish") as server:
        refused = run_open(folder, "--port", str(server.port))
    assert refused.returncode == 1
    assert "without its page" in refused.stderr
