"""The files of the page that a browser loads: stylesheets and scripts, kept until their content changes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from engram_py.dataclass import dataclass

STATIC = "/ui/static"
_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript"}
_VERSION_LETTERS = 12


@dataclass(frozen=True, slots=True)
class Asset:
    body: bytes
    media_type: str
    version: str


@cache
def assets() -> Mapping[str, Asset]:
    """Return every file of the folder by its name. Nothing else can be asked for."""
    found: dict[str, Asset] = {}
    for path in sorted(_FOLDER.iterdir()):
        if path.suffix in _MEDIA_TYPES:
            body = path.read_bytes()
            version = hashlib.sha256(body).hexdigest()[:_VERSION_LETTERS]
            found[path.name] = Asset(body, _MEDIA_TYPES[path.suffix], version)
    return found


def asset(name: str) -> str:
    """Return the address of a file. It holds a hash of the content, so a new version has another address."""
    return f"{STATIC}/{name}?v={assets()[name].version}"
