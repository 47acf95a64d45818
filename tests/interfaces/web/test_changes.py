"""The stream that tells a browser of every write: of this process, of others, once, and until one of the two ends."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.http.errors import HttpError
from engram_py.interfaces.web import application
from engram_py.interfaces.web.access import Access
from engram_py.interfaces.web.application import ChangeWatch
from engram_py.interfaces.web.visit import version_of
from tests.interfaces.http.asking import Running, serving
from tests.interfaces.web.visiting import Visitor
from tests.support import raising


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "LOOK_SECONDS", 0.02)


def told(found: ChangeWatch, since: str, *, seconds: float = 0.3) -> list[str]:
    """The versions that a listener is told of in this time."""
    heard: list[str] = []

    async def listen() -> None:
        with anyio.move_on_after(seconds):
            async for message in found.messages(since):
                heard.extend(line.removeprefix("id: ") for line in message.splitlines() if line.startswith("id: "))

    anyio.run(listen)
    return heard


def test_a_listener_is_told_of_a_write_of_this_process_and_of_another_and_of_nothing_else(app: Engram) -> None:
    found = ChangeWatch(app.store)
    before = version_of(app.store)
    assert told(found, before) == []
    app.save(Draft("Tea", "Second shelf."))
    own = version_of(app.store)
    assert told(found, before) == [own]
    with Engram(settings=Settings(app.settings.data_dir)) as other:
        other.save(Draft("Coffee", "In the tin."), project="widgets")
    [version] = told(found, own)
    assert version not in (before, own)
    assert told(found, version) == []


def test_what_answers_cost_is_a_change(app: Engram) -> None:
    before = version_of(app.store)
    app.ledger.answered("mcp", "mem_search", 400, caller=lambda: ("s1", "widgets"))
    assert app.ledger.flush()
    assert len(told(ChangeWatch(app.store), before)) == 1


def test_looking_at_the_pages_is_no_change(app: Engram, visitor: Visitor) -> None:
    app.save(Draft("Tea", "Second shelf."))
    before = version_of(app.store)
    for path in ("/ui/today", "/ui/", "/ui/?q=tea", "/ui/memory/1", "/ui/given", "/ui/worth", "/ui/review"):
        visitor.look(path)
    assert version_of(app.store) == before


def test_waiting_for_changes_does_not_count_as_work(app: Engram) -> None:
    """Upkeep runs while the process has nothing to do."""
    asked = app.store.asked
    told(ChangeWatch(app.store), "")
    assert app.store.asked == asked


def test_a_stream_ends_when_the_server_ends(app: Engram) -> None:
    started = time.monotonic()
    assert len(told(ChangeWatch(app.store, ending=lambda: time.monotonic() - started > 0.1), "", seconds=20)) == 1
    assert time.monotonic() - started < 10


def test_a_stream_ends_after_a_while_so_that_the_cookie_is_looked_at_again(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "LONGEST_SECONDS", 0.1)
    started = time.monotonic()
    told(ChangeWatch(app.store), "", seconds=20)
    assert time.monotonic() - started < 10


def test_there_are_only_so_many_listeners(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(application, "MOST_LISTENERS", 1)
    found = ChangeWatch(app.store)
    found.stream("", {})  # nobody listens to it yet
    with found.listening(), raising(HttpError, "too_many_listeners"):
        found.stream("", {})
    found.stream("", {})


@contextmanager
def stream(server: Running, cookie: str, since: str = "") -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        connection.request("GET", f"/ui/events?since={since}", headers={"Cookie": cookie})
        yield connection.getresponse()
    finally:
        connection.close()


def next_version(response: http.client.HTTPResponse) -> str:
    while line := response.readline().decode():
        if line.startswith("data: "):
            return line.removeprefix("data: ").strip()
    return ""


def test_a_server_tells_of_another_process_and_ends_at_once_with_its_streams_open(folder: Path, data_dir: Path) -> None:
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        app.save(Draft("Tea", "Second shelf."))
    with serving(folder) as server:
        visitor = Visitor(server.browse, f"http://127.0.0.1:{server.port}")
        visitor.look(f"/ui/enter?token={Access(data_dir).link_token()}")
        with stream(server, visitor.cookie) as response:
            assert response.status == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            assert "default-src 'none'" in response.headers["content-security-policy"]
            before = next_version(response)
            with Engram(settings=Settings(data_dir), directory=folder) as app:
                app.save(Draft("Coffee", "In the tin."))
            assert next_version(response) not in ("", before)
            started = time.monotonic()
            code, log = server.end()
            assert (code, "Traceback" in log) == (0, False), log
            assert time.monotonic() - started < application.LONGEST_SECONDS / 100
            assert next_version(response) == ""


def test_a_stranger_is_told_nothing(stranger: Visitor) -> None:
    assert stranger.raw("GET", "/ui/events").status == 401
