"""The files that a browser loads: small, unchanged since they were vendored, and kept until they change."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import engram_py.interfaces.web
from engram_py.interfaces.web.rendering import asset, assets
from tests.interfaces.web.visiting import Visitor

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
