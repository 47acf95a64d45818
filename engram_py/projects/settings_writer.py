"""Writes `.engram.json`, or Engram's `.engram/config.json` where it is there, for ``engram init``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from engram_py.errors import AlreadyInitializedError, InvalidArgumentError
from engram_py.projects.names import normalize_project
from engram_py.projects.settings_file import FILES


def write_project_settings(root: Path, project: str, *, force: bool = False) -> Path:
    """Name the project of ``root`` in its settings file, keeping what else an existing file says.

    Where only Engram's own file is there, that one is written, under its key: both programs read it.

    Raises:
        AlreadyInitializedError: there is a file, and ``force`` was not asked for.
        InvalidProjectError: ``project`` is not a name.
        InvalidArgumentError: the folder cannot be written.
    """
    path = next((root / name for name in FILES if (root / name).exists()), root / FILES[0])
    key = "project" if path.name == FILES[0] else "project_name"
    name = normalize_project(project)
    if path.exists() and not force:
        raise AlreadyInitializedError(str(path))
    others = {one: value for one, value in _present(path).items() if one not in ("project", "project_name")}
    document = others | {key: name}
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        beside.replace(path)
    except OSError as exc:
        beside.unlink(missing_ok=True)
        expected = f"a folder where {path.name} can be written ({exc.strerror or exc})"
        raise InvalidArgumentError("folder", str(root), expected=expected) from exc
    return path


def _present(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
