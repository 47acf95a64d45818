"""`.engram.json`: a project's name and preferences, from a file that may arrive with a clone and is not trusted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import ConflictError, InvalidArgumentError
from engram_py.base.files import read_bounded, real_path, write_atomically
from engram_py.base.files import reason as failure
from engram_py.base.reasons import Reason, Told, reason, sentence
from engram_py.base.settings import BY_NAME, SETTINGS
from engram_py.base.settings import DEFAULTS as MACHINE
from engram_py.memory.projects.values import InvalidProjectError, normalize_project

FILES = (".engram.json", ".engram/config.json")
MAX_SIZE = 64 * 1024
_MAX_WARNINGS = 20
ALIASES = {"project_name": "project"}  # Engram's spelling

# Words of a key that would point engram somewhere, make it run something, or hold a secret.
_POINTING_WORDS = """
api auth bin cloud cmd command commands credential credentials daemon data database db dir directory endpoint env exec
execute file folder home hook hooks host http key keys mcp model password path plugin plugins port proxy remote run
script secret secrets server servers shell socket store sync target token tokens uri url webhook
"""

Scope = Literal["project", "personal", "global"]

# The settings that a file which may come with a clone is trusted with, by the names they have in it.
KEYS = {setting.project: setting for setting in SETTINGS if setting.project}


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """The settings of the nearest settings file; ``given`` names the keys that it really set, the rest are defaults."""

    project: str | None = None
    default_scope: Scope = MACHINE["default_scope"]
    ignore: tuple[str, ...] = MACHINE["ignore"]
    enabled: bool = MACHINE["enabled"]
    record: bool = MACHINE["record"]
    inject: bool = MACHINE["inject"]
    context_tokens: int = MACHINE["context_tokens"]
    search_limit: int = MACHINE["search_limit"]
    path: Path | None = None
    given: tuple[str, ...] = ()
    warnings: tuple[Told, ...] = ()


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
        return ProjectSettings(path=path, warnings=(reason("file_no_json", file=where),))
    if not isinstance(data, dict):
        return ProjectSettings(path=path, warnings=(reason("file_no_object", file=where),))
    warnings: list[Told] = []
    values = dict(_accepted(data, lambda warning: warnings.append(sentence(f"{where}: ", warning))))
    if len(warnings) > _MAX_WARNINGS:
        warnings[_MAX_WARNINGS:] = [reason("more_in_file", file=where, count=len(warnings) - _MAX_WARNINGS)]
    fields: dict[str, Any] = {KEYS[key].name: value for key, value in values.items()}
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
        return refused(warnings=(reason("link_that_leaves", file=path.name, folder=str(boundary)),))
    try:
        raw = read_bounded(target, MAX_SIZE)
        return parse_project_settings(raw.decode(json.detect_encoding(raw)), path)
    except OSError as exc:
        return refused(warnings=(reason("file_ignored", file=path.name, problem=failure(exc)),))
    except UnicodeDecodeError:
        return refused(warnings=(reason("file_no_text", file=path.name),))


def _accepted(data: Mapping[str, object], warn: Callable[[Reason], None]) -> Iterator[tuple[str, object]]:
    offered = dict(_flattened(data, warn))
    for alias, key in ALIASES.items():
        if alias in offered and key in offered:
            warn(reason("alias_ignored", alias=alias, setting=key))
            del offered[alias]
    for name, raw in offered.items():
        key = ALIASES.get(name, name)
        if key not in KEYS:
            warn(_unknown(name))
            continue
        value, said = _taken(key, name, raw)
        if said:
            warn(said)
        if value is not None:
            yield key, value


def _taken(key: str, name: str, raw: object) -> tuple[object, Reason | None]:
    """Return the value of a key, None where it is ignored, and a note that does not repeat what the file says."""
    if key == "default_scope" and raw == "global":
        return None, reason("scope_of_clone", setting=name)
    value, said = KEYS[key].take(raw, name, trusted=False)
    if key != "project" or value is None:
        return value, said
    try:
        return normalize_project(value), None
    except InvalidProjectError as exc:
        return None, reason("no_project_name", setting=name, problem=exc.reason)


def _flattened(data: Mapping[str, object], warn: Callable[[Reason], None]) -> Iterator[tuple[str, object]]:
    """Yield the keys by the names they have in ``KEYS``, with those of the objects it knows dotted."""
    groups = {key.partition(".")[0] for key in KEYS if "." in key}
    for name, value in data.items():
        if name == "$schema":  # for editors
            continue
        if name not in groups:
            yield name, value
        elif isinstance(value, dict):
            yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            warn(reason("setting_ignored", setting=name, accepted="an object"))


def _unknown(name: str) -> Reason:
    import re  # a file without such keys has no use for it

    words = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name[:200])}
    shown = name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,39}", name) else "a key with an unusual name"
    fields = {setting.name for setting in KEYS.values()}
    points = name.rpartition(".")[2] in BY_NAME or words & set(_POINTING_WORDS.split())
    if points and shown.rpartition(".")[2] not in fields:
        return reason("not_by_clone", setting=shown)
    return reason("no_setting", setting=shown)


def write_project_settings(root: Path, project: str, *, force: bool = False) -> Path:
    """Name the project of ``root`` in its settings file, keeping what else an existing file says.

    Where only Engram's own file is there, that one is written, under its key: both programs read it.

    Raises:
        ConflictError (already_initialized): there is a file, and ``force`` was not asked for.
        InvalidProjectError: ``project`` is not a name.
        InvalidArgumentError: the folder cannot be written.
    """
    path = next((root / name for name in FILES if (root / name).exists()), root / FILES[0])
    key = "project" if path.name == FILES[0] else "project_name"
    name = normalize_project(project)
    if path.exists() and not force:
        raise ConflictError(
            f"{path} exists already", hint="edit it, or pass --force to write it again", code="already_initialized"
        )
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
