"""Read and check an export as a whole, before anything of it is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from engram_py.interchange.errors import InvalidExportError
from engram_py.times import FORMAT_WIDTH, canonical

if TYPE_CHECKING:
    from engram_py.interchange.values import ExportIn

_STREAM = "-"
_SHOWN_CHARS = 80
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_OLDEST, _NEWEST = "1970", "9000"


def read_export(source: Path | BinaryIO) -> ExportIn:
    """Return the export in a file or an open stream.

    Raises InvalidExportError: it cannot be read, is not JSON, another version, or has wrong types.
    """
    # Imported here: they cost a command that imports nothing 0.1 s.
    from pydantic import ValidationError

    from engram_py.interchange.values import READABLE, ExportIn

    name = name_of(source)
    values = _json_object(source, name)
    version = values.get("version") or ""
    if version and version not in READABLE:
        shown = repr(version)[:_SHOWN_CHARS]
        raise InvalidExportError(name, f"version {shown} is not one of {', '.join(READABLE)}")
    try:
        return ExportIn.model_validate(values)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part)[:_SHOWN_CHARS] for part in first["loc"])
        raise InvalidExportError(name, f"{where}: {first['msg']}") from exc


def name_of(source: Path | BinaryIO) -> str:
    return str(source) if isinstance(source, Path) else _STREAM


def moment_of(text: str | None) -> str | None:
    """Return ``text`` as the memory writes times, None when it is no time: Go's zero time is the year 1."""
    moment = canonical(text)
    fits = moment is not None and len(moment) == FORMAT_WIDTH and _OLDEST <= moment < _NEWEST
    return moment if fits else None


def _json_object(source: Path | BinaryIO, name: str) -> dict[str, Any]:
    try:
        raw = source.read_bytes() if isinstance(source, Path) else source.read()
        text = raw.decode("utf-8-sig")
        values = _mended(json.loads(text)) if _SURROGATE.search(text) else json.loads(text)
    except OSError as exc:
        raise InvalidExportError(name, exc.strerror or str(exc)) from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidExportError(name, f"it is not whole JSON ({exc})") from exc
    if not isinstance(values, dict):
        raise InvalidExportError(name, "it is not a JSON object")
    return values


def _mended(value: Any) -> Any:
    """JSON can spell half a character (``\\ud800``), which no text here can hold: U+FFFD stands in for it."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_mended(key): _mended(one) for key, one in value.items()}
        case list():
            return [_mended(one) for one in value]
    return value
