"""Edit TOML in place with tomlkit, behind the methods of JsonDocument."""

from __future__ import annotations

import re
import tomllib
from collections.abc import MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from engram_py.files import lines_of
from engram_py.interfaces.setup.jsonc import MISSING, UnreadableTextError


class TomlDocument:
    """A TOML text, read and changed by path: ``("mcp_servers", "engram")``."""

    def __init__(self, text: str) -> None:
        # tomlkit ends the lines it adds with \n whatever the others end with.
        self._windows = "\r\n" in text and text.count("\n") == text.count("\r\n")
        text = text.replace("\r\n", "\n") if self._windows else text
        try:
            tomllib.loads(text)  # tomlkit lets some errors pass that the agent's own parser does not
            self._document = tomlkit.parse(text)
        except (TOMLKitError, ValueError) as exc:
            raise UnreadableTextError(str(exc)[:200]) from exc
        except RecursionError:
            raise UnreadableTextError("it is nested too deeply") from None
        if self._document.as_string() != text:
            raise UnreadableTextError("it cannot be written back unchanged")

    def text(self) -> str:
        written = self._document.as_string()
        return re.sub(r"\r?\n", "\r\n", written) if self._windows else written

    def get(self, path: tuple[str, ...]) -> Any:
        """Return the value at ``path``, MISSING where there is none."""
        node: Any = self._document.unwrap()
        for name in path:
            if not isinstance(node, dict) or name not in node:
                return MISSING
            node = node[name]
        return node

    def set(self, path: tuple[str, ...], value: Any) -> None:
        """Give the table or key a value, making the tables above it. An equal value keeps its spelling."""
        if self.get(path) == value:
            return
        node: MutableMapping[str, Any] = self._document
        for name in path[:-1]:
            if name not in node:
                node[name] = tomlkit.table(is_super_table=True)
            inner = node[name]
            if not isinstance(inner, MutableMapping):
                raise UnreadableTextError(f"{'.'.join(path[:-1])} is not a table")
            node = inner
        node[path[-1]] = _item(value)

    def remove(self, path: tuple[str, ...]) -> None:
        """Take the table or key away; its comments go with it, those below it stay."""
        whole = self._document.as_string()
        node: Any = self._document
        for name in path[:-1]:
            if not isinstance(node, MutableMapping) or name not in node:
                return
            node = node[name]
        if isinstance(node, MutableMapping) and path[-1] in node:
            del node[path[-1]]
            self._document = tomlkit.parse(_with_comments_below(whole, self._document.as_string()))


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
    kept = len(lines)
    while kept and (not lines[kept - 1].strip() or lines[kept - 1].lstrip().startswith("#")):
        kept -= 1
    below = "".join(lines[kept:])
    if "#" not in below:
        return less
    if start == 0 or whole[:start].endswith("\n\n"):
        below = below.lstrip("\n")
    return whole[:start] + below + whole[end:]


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    table = tomlkit.table()
    for name, one in value.items():
        table.add(name, one)
    return table
