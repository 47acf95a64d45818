"""Static files and colours, ``engram open``, and hostile memories on every page."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import psutil  # type: ignore[import-untyped]
import pytest

import engram_py.interfaces.web
from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.web.rendering import asset, assets, markdown
from tests.interfaces.http.asking import serving
from tests.interfaces.web.visiting import Seen, Visitor

STATIC = Path(engram_py.interfaces.web.__file__).parent / "static"
MOST_BYTES = 50_000


def test_all_files_together_are_below_50_kilobytes_compressed() -> None:
    sizes = {name: len(gzip.compress(found.body, 9)) for name, found in assets().items()}
    assert {"htmx.min.js", "uPlot.iife.min.js", "uPlot.min.css", "page.js", "style.css"} <= sizes.keys()
    assert sum(sizes.values()) < MOST_BYTES, sizes


def test_vendored_files_are_those_of_their_packages_with_their_licenses() -> None:
    listed = (STATIC / "VENDORED.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w.]+) \| ([^|]+) \| (\w+) \| ([0-9a-f]{64}) \|$", listed, re.MULTILINE)
    assert {name: license for name, _, license, _ in rows} == {
        "htmx.min.js": "0BSD", "uPlot.iife.min.js": "MIT", "uPlot.min.css": "MIT",
    }  # fmt: skip
    for name, _, _, digest in rows:
        assert hashlib.sha256(assets()[name].body).hexdigest() == digest, name
    assert "Copyright (c) 2022 Leon Sorokin" in listed
    assert "Zero-Clause BSD" in listed


def test_a_file_is_served_to_everybody_and_kept_until_its_content_changes(stranger: Visitor) -> None:
    for name, media_type in (("page.js", "text/javascript"), ("style.css", "text/css")):
        reply = stranger.raw("GET", asset(name))
        assert reply.status == 200
        assert reply.body == (STATIC / name).read_bytes()
        assert reply.headers["content-type"].startswith(media_type)
        assert "immutable" in reply.headers["cache-control"]
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_nothing_else_of_the_disk_is_served(visitor: Visitor) -> None:
    for name in ("VENDORED.md", "nothing.js", "../pages.py", "..%2fpages.py", "%2e%2e/rendering.py", ""):
        assert visitor.raw("GET", f"/ui/static/{name}").status in (307, 404), name


_LEAST = 4.5


def themes() -> dict[str, dict[str, str]]:
    found = re.findall(r":root \{(.*?)\}", assets()["style.css"].body.decode(), re.DOTALL)
    light, dark = (dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", one)) for one in found)
    assert light.keys() == dark.keys()
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(one * 2 for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_can_be_read_on_every_ground(theme: str) -> None:
    colours = themes()[theme]
    texts, grounds = ("text", "soft", "link", "good", "warn", "bad"), ("ground", "raised")
    pairs = [(text, ground) for text in texts for ground in grounds] + [("text", "new"), ("text", "gone")]
    found = {pair: contrast(*(colours[one] for one in pair)) for pair in pairs}
    assert {pair: ratio for pair, ratio in found.items() if ratio < _LEAST} == {}


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
        assert "Second shelf." in visitor.press(visitor.press(done, "Delete"), "Undelete").text
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


EVIL = """<script>alert('tea')</script><img src=x onerror=alert(1)> <svg onload=alert(1)>
</pre></textarea></section><iframe src="https://evil.example"></iframe>
[click](javascript:alert%281%29) [two](JaVaScRiPt:alert) [three](data:text/html,<script>) <javascript:alert(1)>
![picture](https://evil.example/tea.png) [ref][r] {{ 7777 * 7 }} {% raw %}

[r]: vbscript:x "title"
<!-- <style>*{display:none}</style>
"""
TITLE = "Tea\u202egnp.exe \u2066<b onmouseover=alert(1)>'\"`{{7777*7}} " + "x" * 900
_ALLOWED = """
html head meta title link body a header nav main h1 h2 h3 h4 h5 h6 p form label input select option datalist button
article span bdi time details summary dl dt dd div table thead tbody tr th td caption code section ul ol li pre textarea
del strong em br hr blockquote s script noscript figure figcaption
"""


def check(seen: Seen) -> None:
    """Only our own tags and scripts; no attribute that runs; every address our own, or a plain link of the text."""
    for tag, attributes in seen.page.tags:
        assert tag in _ALLOWED.split(), tag
        assert not [name for name in attributes if name.startswith(("on", "hx-on")) or name == "style"], (
            tag,
            attributes,
        )
        for name in ("href", "action", "src"):
            address = attributes.get(name, "/ui/")
            if not address.startswith(("/ui/", "#main")):
                assert tag == "a"
                assert address.startswith(("https://", "http://", "mailto:"))
                assert "noopener" in attributes["rel"]
    for turning in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b":
        assert turning not in seen.page.text.replace(_typed(seen), "")
    headers = seen.reply.headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src 'self';" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert seen.reply.body.count(b"<script") == seen.reply.body.count(b'<script src="/ui/static/')
    assert "54439" not in seen.text  # a template in a memory is text, too


def _typed(seen: Seen) -> str:
    """What the fields hold: it is sent back, so it is there as it is."""
    return "\0".join(value for form in seen.page.forms for value in form.fields.values()) or "\0"


@pytest.fixture
def rows(app: Engram) -> list[int]:
    session = app.sessions.start("evil<script>'\"&", project="widgets").session.id
    first = app.save(Draft(TITLE, EVIL, "<i>type"), session_id=session).id
    second = app.save(Draft(TITLE[:300] + " again", EVIL + " other", "note"), session_id=session).id
    app.relations.compare(second, first, "supersedes", confidence=1.0, reasoning="<script>alert(1)</script>")
    app.prompts.save(EVIL, session_id=session)
    app.citations.inject(session, {first: 100}, "session")
    app.sessions.end(session, summary=EVIL)
    return [first, second]


def test_a_hostile_memory_is_text_on_every_page(app: Engram, visitor: Visitor, rows: list[int]) -> None:
    paths = [
        "/ui/", "/ui/?q=tea", "/ui/?q=%3Cscript%3Ealert(1)%3C/script%3E&project=widgets", "/ui/?q=tea&type=%3Ci%3Etype",
        "/ui/given", "/ui/session?id=evil%3Cscript%3E%27%22%26", "/ui/ask?prompt=%3Cscript%3Etea&project=widgets",
        "/ui/ask?project=widgets", "/ui/today", "/ui/review", "/ui/worth", "/ui/projects", "/ui/timeline",
        *(f"/ui/memory/{row}" for row in rows), *(f"/ui/memory/{row}/edit" for row in rows),
        "/ui/memory/1?done=%3Cscript%3E&undo=%22%3E%3Cscript%3E", "/ui/?project=%3Cscript%3E", "/ui/%3Cscript%3E",
    ]  # fmt: skip
    for path in paths:
        seen = visitor.look(path)
        assert seen.status in (200, 400, 404), path
        check(seen)
    check(visitor.press(visitor.look(f"/ui/memory/{rows[0]}"), "Delete"))


def test_the_edit_form_holds_a_hostile_text_letter_for_letter(app: Engram, visitor: Visitor, rows: list[int]) -> None:
    kept = app.get(rows[0]).observation
    form = visitor.look(f"/ui/memory/{rows[0]}/edit").page.form("Save")
    assert form.fields["title"] == kept.title
    assert form.fields["content"].replace("\r\n", "\n") == kept.content
    assert "Nothing was changed" in visitor.send(form).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("**bold** `code`", "<strong>bold</strong> <code>code</code>"), ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
     ("[x](javascript:alert(1))", "[x](javascript:alert(1))"), ("[x](/export)", "[x](/export)"),
     ("[x](//evil.example)", "[x](//evil.example)"),
     ("[https://good.example](https://evil.example/)", 'title="https://evil.example/"'),
     ("[x](https:evil)", "[x](https:evil)"),
     ("a\u202eb", "a⟦RLO⟧b"), ("a\x1b[31mb", "a␛[31mb"), ("&lt;b&gt;", "&lt;b&gt;"),
     ("one\ntwo", "one<br>"), ("[x](file:///etc/passwd)", "[x](file:///etc/passwd)")],
)  # fmt: skip
def test_markdown_gives_structure_and_nothing_that_runs(text: str, shown: str) -> None:
    assert shown in markdown(text)


def test_deep_and_long_markdown_is_rendered_in_time() -> None:
    for text in ("> " * 20_000, "[" * 50_000, "*" * 50_000, "`" * 49_999, "- " * 20_000, "|a" * 20_000 + "\n|-|"):
        assert len(markdown(text)) < 3_000_000
