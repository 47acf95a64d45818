"""`.engram.json`: a project's name and preferences, from a file that may arrive with a clone and is not trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from engram_py.dataclass import dataclass, replace
from engram_py.errors import InvalidArgumentError
from engram_py.files import read_bounded, real_path, reason, write_atomically
from engram_py.projects.errors import AlreadyInitializedError
from engram_py.projects.names import normalize_project
from engram_py.projects.settings_keys import KEYS, Refusal, SettingKey

__all__ = ["DEFAULTS", "KEYS", "ProjectSettings", "SettingKey", "find_project_settings", "parse_project_settings"]

FILES = (".engram.json", ".engram/config.json")
MAX_SIZE = 64 * 1024
_MAX_WARNINGS = 20

# Words of a key that would point engram somewhere, make it run something, or hold a secret.
_POINTING_WORDS = """
api auth bin cloud cmd command commands credential credentials daemon data database db dir directory endpoint env exec
execute file folder home hook hooks host http key keys mcp model password path plugin plugins port proxy remote run
script secret secrets server servers shell socket store sync target token tokens uri url webhook
"""
_POINTING = frozenset(_POINTING_WORDS.split())
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SHOWABLE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")

Scope = Literal["project", "personal", "global"]


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What the nearest settings file says; ``given`` names the keys that it really set, the rest are defaults."""

    project: str | None = None
    default_scope: Scope = "project"
    ignore: tuple[str, ...] = ()
    enabled: bool = True
    record: bool = True
    inject: bool = True
    context_tokens: int = 1500
    search_limit: int = 10
    path: Path | None = None
    given: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


DEFAULTS = ProjectSettings()


def parse_project_settings(text: str, path: Path | None) -> ProjectSettings:
    """Return the settings in ``text``; what cannot be used is left out with a warning, and the rest still counts.

    Warnings name a key only where it looks like one, and never show a value: an agent may read them, and the
    file is a stranger's.
    """
    where = path.name if path else FILES[0]
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return ProjectSettings(path=path, warnings=(f"{where} is not JSON and was ignored",))
    if not isinstance(data, dict):
        return ProjectSettings(path=path, warnings=(f"{where} is not a JSON object and was ignored",))
    warnings: list[str] = []
    values = dict(_accepted(data, lambda warning: warnings.append(f"{where}: {warning}")))
    if len(warnings) > _MAX_WARNINGS:
        warnings[_MAX_WARNINGS:] = [f"{where}: and {len(warnings) - _MAX_WARNINGS} more"]
    fields: dict[str, Any] = {key.field: values[key.name] for key in KEYS if key.name in values}
    return ProjectSettings(**fields, path=path, given=tuple(values), warnings=tuple(warnings))


def find_project_settings(directory: Path, root: Path | None) -> ProjectSettings:
    """Return the nearest settings file from ``directory`` up to the repository's ``root``; without one, there only.

    Preferences come from the nearest file. One that names no project leaves the name to the next one up.
    """
    boundary = root if root is not None and directory.is_relative_to(root) else directory
    nearest: ProjectSettings | None = None
    for folder in (directory, *directory.parents):
        for name in FILES:
            found = _read(folder / name, boundary)
            if found is None:
                continue
            if nearest is None:
                nearest = found
            elif found.project is not None:
                nearest = replace(nearest, project=found.project, given=("project", *nearest.given))
            if nearest.project is not None:
                return nearest
        if folder == boundary:
            break
    return nearest or DEFAULTS


def _read(path: Path, boundary: Path) -> ProjectSettings | None:
    try:
        path.lstat()
    except (OSError, ValueError):
        return None
    refused = partial(ProjectSettings, path=path)
    target = real_path(path)
    if not target.is_relative_to(real_path(boundary)):
        return refused(warnings=(f"{path.name} is a link that leaves {boundary} and was ignored",))
    try:
        raw = read_bounded(target, MAX_SIZE)
        return parse_project_settings(raw.decode(json.detect_encoding(raw)), path)
    except OSError as exc:
        return refused(warnings=(f"{path.name} was ignored: {reason(exc)}",))
    except UnicodeDecodeError:
        return refused(warnings=(f"{path.name} is not UTF-8 text and was ignored",))


def _accepted(data: Mapping[str, object], warn: Callable[[str], None]) -> Iterator[tuple[str, object]]:
    offered = dict(_flattened(data, warn))
    for key in KEYS:
        names = [name for name in (key.name, key.alias) if name in offered]
        for name in names[1:]:
            warn(f"{name} is ignored, because {names[0]} is given too")
        if names:
            try:
                yield key.name, key.check(offered[names[0]])
            except Refusal as refusal:
                warn(f"{names[0]} {refusal}; it was ignored")
    known = {name for key in KEYS for name in (key.name, key.alias)}
    for name in offered:
        if name not in known:
            warn(_unknown(name))


def _flattened(data: Mapping[str, object], warn: Callable[[str], None]) -> Iterator[tuple[str, object]]:
    """Yield the keys by the names they have in ``KEYS``, with those of the objects it knows dotted."""
    groups = {key.name.partition(".")[0] for key in KEYS if "." in key.name}
    for name, value in data.items():
        if name == "$schema":  # for editors
            continue
        if name not in groups:
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            warn(f"{name} must be an object; it was ignored")


def _unknown(name: str) -> str:
    shown = name if _SHOWABLE.fullmatch(name) else "a key with an unusual name"
    words = {word.lower() for word in _WORDS.findall(name[:200])}
    if words & _POINTING and shown.rpartition(".")[2] not in {key.field for key in KEYS}:
        return f"{shown} is ignored: a file that can arrive with a clone cannot set it; use ENGRAM_* variables"
    return f"{shown} is not a setting; it was ignored"


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
    try:
        write_atomically(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode(), mode=0o666)
    except OSError as exc:
        expected = f"a folder where {path.name} can be written ({exc.strerror or exc})"
        raise InvalidArgumentError("folder", str(root), expected=expected) from exc
    return path


def _present(path: Path) -> dict[str, object]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
