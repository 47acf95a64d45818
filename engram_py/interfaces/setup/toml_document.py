"""Edit TOML in place, behind the methods of JsonDocument.

tomlkit edits nearly everything and keeps what stands around it. Where its result would say something else than was
asked for, as between the parts of an array of tables or behind dotted keys, the lines of the section are edited. The
strict parser of the standard library decides: an edit counts when it says just what was wanted.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from engram_py.files import lines_of
from engram_py.interfaces.setup.jsonc import MISSING, UnreadableTextError

_Path = tuple[str, ...]


class TomlDocument:
    """A TOML text, read and changed by path: ``("mcp_servers", "engram")``."""

    def __init__(self, text: str) -> None:
        # tomlkit ends the lines it adds with \n whatever the others end with.
        self._windows = "\r\n" in text and text.count("\n") == text.count("\r\n")
        self._text = text.replace("\r\n", "\n") if self._windows else text
        try:
            self._values = tomllib.loads(self._text)
        except ValueError as exc:
            raise UnreadableTextError(str(exc)[:200]) from exc
        except RecursionError:
            raise UnreadableTextError("it is nested too deeply") from None

    def text(self) -> str:
        return re.sub(r"\r?\n", "\r\n", self._text) if self._windows else self._text

    def get(self, path: _Path) -> Any:
        """Return the value at ``path``, MISSING where there is none."""
        node: Any = self._values
        for name in path:
            if not isinstance(node, dict) or name not in node:
                return MISSING
            node = node[name]
        return node

    def set(self, path: _Path, value: Any) -> None:
        """Give the table or key a value, making the tables above it. An equal value keeps its spelling."""
        if self.get(path) == value:
            return
        wanted = copy.deepcopy(self._values)
        node = wanted
        for name in path[:-1]:
            node = node.setdefault(name, {})
            if not isinstance(node, dict):
                raise UnreadableTextError(f"{'.'.join(path[:-1])} is not a table")
        node[path[-1]] = value
        self._become(wanted, path, lambda: _set(self._text, path, value), lambda: _put(self._text, path, value))

    def remove(self, path: _Path) -> None:
        """Take the table or key away; its comments go with it, those below it stay."""
        if self.get(path) is MISSING:
            return
        wanted = copy.deepcopy(self._values)
        node = wanted
        for name in path[:-1]:
            node = node[name]
        del node[path[-1]]
        self._become(wanted, path, lambda: _removed(self._text, path), lambda: _cut(self._text, path))

    def _become(self, wanted: dict[str, Any], path: _Path, *edits: Callable[[], str]) -> None:
        for edit in edits:
            try:
                text = edit()
                values = tomllib.loads(text)
            except (TOMLKitError, ValueError, TypeError, KeyError, RecursionError):
                continue
            if _full(values) == _full(wanted):
                self._text, self._values = text, values
                return
        raise UnreadableTextError(f"{'.'.join(path)} cannot be edited in place")


def _full(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without tables in which nothing stands."""
    kept = {name: _full(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {name: value for name, value in kept.items() if value != {}}


# --- with tomlkit -----------------------------------------------------------------------------------------


def _parsed(text: str) -> tomlkit.TOMLDocument:
    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ValueError("tomlkit puts its parts into another order")
    return document


def _set(text: str, path: _Path, value: Any) -> str:
    document = _parsed(text)
    node: MutableMapping[str, Any] = document
    for name in path[:-1]:
        if name not in node:
            node[name] = tomlkit.table(is_super_table=True)
        node = node[name]
    node[path[-1]] = value if isinstance(node, InlineTable) else _item(value)
    return document.as_string()


def _removed(text: str, path: _Path) -> str:
    document = _parsed(text)
    node: MutableMapping[str, Any] = document
    for name in path[:-1]:
        node = node[name]
    del node[path[-1]]
    return _with_comments_below(text, document.as_string())


def _with_comments_below(whole: str, less: str) -> str:
    """``less``, which is ``whole`` without a table, with the comments that stood between that and what follows it.

    To tomlkit they are the table's; to somebody who writes them above the next table they are not.
    """
    same = next((at for at, pair in enumerate(zip(whole, less, strict=False)) if pair[0] != pair[1]), len(less))
    start = whole.rfind("\n", 0, same) + 1
    end = start + len(whole) - len(less)
    if whole[:start] + whole[end:] != less:
        return less
    lines = lines_of(whole[start:end], ends=True)
    below = "".join(lines[_own_end(lines) :])
    if "#" not in below:
        return less
    if start == 0 or whole[:start].endswith("\n\n"):
        below = below.lstrip("\n")
    return whole[:start] + below + whole[end:]


def _own_end(lines: list[str]) -> int:
    """Return where the blank lines and comments begin that stand at the end, above what comes next."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    table = tomlkit.table()
    for name, one in value.items():
        table.add(name, one)
    return table


# --- by the lines of sections -----------------------------------------------------------------------------


def _sections(text: str) -> Iterator[tuple[_Path, list[str]]]:
    """Yield the parts of a text that begin with the header of a table, each with its path; what stands before the
    first of them has none."""
    path: _Path = ()
    part: list[str] = []
    before = ""
    for line in lines_of(text, ends=True):
        if line.lstrip().startswith("[") and (found := _header(line)) and _is_whole(before):
            yield path, part
            path, part = found, []
        part.append(line)
        before += line
    yield path, part


def _header(line: str) -> _Path:
    """Return the path in the header of a table, () for a line that is none."""
    try:
        node: Any = tomllib.loads(line)
    except ValueError:
        return ()
    path: list[str] = []
    while node:
        if isinstance(node, list):
            node = node[0]
            continue
        name, node = next(iter(node.items()))
        path.append(name)
    return tuple(path)


def _is_whole(text: str) -> bool:
    """Return whether no string and no array is open at the end of a text."""
    try:
        tomllib.loads(text)
    except ValueError:
        return False
    return True


def _put(text: str, path: _Path, value: Any) -> str:
    """Return the text with a table at its end, or with a key in the section of its table."""
    if isinstance(value, dict):
        return _added(_cut(text, path), _set("", path, value))
    parts = [(found, "".join(part)) for found, part in _sections(text)]
    own = next((at for at, (found, _) in enumerate(parts) if found and found == path[:-1]), None)
    if own is None:
        return _added(text, _set("", path, value))
    return "".join(_set(part, path, value) if at == own else part for at, (_, part) in enumerate(parts))


def _added(text: str, more: str) -> str:
    text = text if not text or text.endswith("\n") else f"{text}\n"
    return f"{text}\n{more}" if text.strip() else more


def _cut(text: str, path: _Path) -> str:
    """Return the text without a table and those below it, or without a key; comments above the next table stay."""
    kept: list[str] = []
    for found, part in _sections(text):
        whole = "".join(part)
        if found[: len(path)] == path:
            kept += part[_own_end(part) :]
        elif not found:  # dotted keys, before the first header
            kept += (line for line in part if not _says(line, path))
        elif found == path[:-1] and _says(whole, path):
            kept.append(_removed(whole, path))
        else:
            kept.append(whole)
    return "".join(kept)


def _says(text: str, path: _Path) -> bool:
    """Return whether a part of a text, taken alone, has a value at ``path``."""
    try:
        return TomlDocument(text).get(path) is not MISSING
    except UnreadableTextError:
        return False
