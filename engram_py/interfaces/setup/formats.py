"""Edit JSON with comments, TOML and YAML in place: whatever nobody asked to change keeps its bytes.

An edit is a splice of the text. It counts when a strict parser reads from the result just what was wanted.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Final

from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex

MISSING: Final = object()

KeyPath = tuple[str | int, ...]
_Edit = Callable[[str, KeyPath, Any], str]


class UnreadableTextError(ValueError):
    """The text cannot be parsed; the message says where."""


class Document:
    """A JSON, TOML or YAML text, read and changed by path: ``("mcpServers", "engram")``; an item of a list by its
    index.

    JSON may have comments and trailing commas; as ``commented-json`` comments alone.
    """

    def __init__(self, text: str, format: str) -> None:
        if format == "commented-json":
            _refuse_trailing_comma(text)
        self._format = format.removeprefix("commented-")
        self._windows = "\r\n" in text and text.count("\n") == text.count("\r\n")
        self._text = text.replace("\r\n", "\n") if self._windows else text
        self._values = _parsed(self._text, format)

    def text(self) -> str:
        return self._text.replace("\n", "\r\n") if self._windows else self._text

    def get(self, path: KeyPath) -> Any:
        """Return the value at ``path``, MISSING where there is none."""
        node: Any = self._values
        for name in path:
            if isinstance(name, int):
                node = node[name] if isinstance(node, list) and name < len(node) else MISSING
            else:
                node = node.get(name, MISSING) if isinstance(node, dict) else MISSING
        return node

    def set(self, path: KeyPath, value: Any) -> None:
        """Give the member or item a value, making the objects above it. An equal value keeps its spelling.

        The index after the last one adds an item. Raises UnreadableTextError: something else stands in the way.
        """
        if self.get(path) == value:
            return
        for depth, name in enumerate(path):
            above, kind = self.get(path[:depth]), list if isinstance(name, int) else dict
            if above is not MISSING and not isinstance(above, kind):
                called = (
                    "a list"
                    if kind is list
                    else {"json": "an object", "toml": "a table", "yaml": "a mapping"}[self._format]
                )
                raise UnreadableTextError(f"{'.'.join(map(str, path[:depth]))} is not {called}")
        self._become(path, value)

    def remove(self, path: KeyPath) -> None:
        """Take the member or item away, with its comma; the comments around it stay."""
        if self.get(path) is not MISSING:
            self._become(path, MISSING)

    def _become(self, path: KeyPath, value: Any) -> None:
        for edit in _EDITS[self._format]:
            try:
                text = edit(self._text, path, value)
                values = _parsed(text, self._format)
                is_wanted = _full(values) == _full(_changed(self._values, path, value))
            except (ValueError, LookupError, TypeError, RecursionError):
                continue
            if is_wanted:
                self._text, self._values = text, values
                return
        raise UnreadableTextError(f"{'.'.join(map(str, path))} cannot be edited in place")


def _parsed(text: str, format: str) -> dict[str, Any]:
    try:
        values: Any = _PARSERS.get(format, _lenient_json)(text)
    except RecursionError:
        raise UnreadableTextError("it is nested too deeply") from None
    except ValueError as exc:
        raise UnreadableTextError(str(exc)[:200]) from exc
    if not isinstance(values, dict):
        raise UnreadableTextError(f"it does not hold {'a mapping' if format == 'yaml' else 'a JSON object'}")
    return values


def _lenient_json(text: str) -> Any:
    return _json(_strict(text) if text.strip() else "{}")


def _json(text: str) -> Any:
    return json.loads(text, strict=False)


def _changed(node: Any, path: KeyPath, value: Any) -> Any:
    """Return the values with another one at ``path``, without any there if that is MISSING."""
    if not path:
        return value
    name = path[0]
    if isinstance(name, int):
        return [*node[:name], *([] if value is MISSING else [value]), *node[name + 1 :]]
    below = node.get(name, [] if isinstance(path[-1], int) and len(path) == 2 else {})
    fresh = {**node, name: _changed(below, path[1:], value)}
    return {one: kept for one, kept in fresh.items() if kept is not MISSING}


def _full(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without tables in which nothing stands."""
    kept = {name: _full(value) if isinstance(value, dict) else value for name, value in values.items()}
    return {name: value for name, value in kept.items() if value != {}}


# --- JSON -------------------------------------------------------------------------------------------------

# Without possessive parts, which Python 3.11.2 gets wrong; each text matches in one way, so none takes long.
_COMMENT = r"//[^\r\n]*(?![^\r\n])|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_BLANK = " \t\r\n"
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = regex(rf'{_STRING}|{_COMMENT}|[{{}}\[\],:]|[^\s{{}}\[\],:"/]+', re.DOTALL)
_LENIENT = regex(rf"({_STRING})|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[}}\]])", re.DOTALL)


def _strict(text: str) -> str:
    """Return JSON with blanks in the place of comments and trailing commas."""
    return _LENIENT.sub(lambda found: found[1] or re.sub("[^\\n]", " ", found[0]), text)


def _refuse_trailing_comma(text: str) -> None:
    comma = next((found.start() for found in _LENIENT.finditer(text) if found[0] == ","), None)
    if comma is not None:
        line = text.count("\n", 0, comma) + 1
        raise UnreadableTextError(f"line {line} ends with a comma before a closing bracket, which the agent rejects")


@dataclass(slots=True)
class _Child:
    """A member or item: where it begins, its value begins, it ends, and the comma behind it ends (0 without one)."""

    name: str | int
    start: int
    value: int
    end: int
    comma: int = 0


def _children(text: str, at: int) -> tuple[list[_Child], int]:
    """Return the children of the object or list that begins at ``at``, and where its closing bracket stands."""
    children: list[_Child] = []
    depth = 0
    for token in _TOKEN.finditer(text, at + 1):
        sign, start, end = token[0], token.start(), token.end()
        if sign.startswith(("//", "/*")):
            continue
        if depth == 0 and sign in ("}", "]"):
            return children, start
        if depth == 0 and sign == ",":
            children[-1].comma = end
        elif depth == 0 and sign == ":":
            children[-1].value = 0  # it comes next
        else:
            if not children or children[-1].comma:
                children.append(_Child(_json(sign) if text[at] == "{" else len(children), start, start, end))
            children[-1].value, children[-1].end = children[-1].value or start, end
            depth += (sign in ("{", "[")) - (sign in ("}", "]"))
    raise ValueError("it has no end")


def _container(text: str, path: KeyPath) -> tuple[int, list[_Child], int, int]:
    """Return the innermost object or list above ``path`` that exists: where it begins, its children, where it ends, and
    how many names lead to it."""
    at = next(token.start() for token in _TOKEN.finditer(text) if token[0] == "{")
    for depth, name in enumerate(path):
        children, close = _children(text, at)
        child = _named(children, name)
        if child is None or depth == len(path) - 1:
            return at, children, close, depth
        at = child.value
    raise LookupError(path)


def _named(children: list[_Child], name: str | int) -> _Child | None:
    """Return the child of a name; of two with one name the later counts, as in every JSON parser."""
    return next((one for one in reversed(children) if one.name == name), None)


def _put_json(text: str, path: KeyPath, value: Any) -> str:
    text = text if text.strip() else "{}\n"
    at, children, close, depth = _container(text, path)
    child = _named(children, path[depth])
    if child is not None:
        return text[: child.value] + _rendered(text, value, _lead(text, child.start)) + text[child.end :]
    for name in reversed(path[depth + 1 :]):
        value = [value] if isinstance(name, int) else {name: value}
    key = f"{json.dumps(path[depth], ensure_ascii=False)}: " if text[at] == "{" else ""
    last = children[-1] if children else None
    end = len(text[:close].rstrip(_BLANK))  # behind the last comment
    if last is None:
        is_flat = "\n" not in text.strip() and "".join(text.split()) != "{}"
        lead = "" if is_flat else "\n" + _indent(text) * (depth + 1)
        return text[:end] + lead + key + _rendered(text, value, lead) + lead.removesuffix(_indent(text)) + text[close:]
    lead = _lead(text, last.start) or " "
    tokens = _TOKEN.findall(text, last.comma or last.end, end)
    if tokens and tokens[-1].startswith("//") and "\n" not in lead:
        lead = "\n" + _indent(text)  # or the member would stand in the comment
    fresh = lead + key + _rendered(text, value, lead)
    if last.comma:
        return f"{text[:end]}{fresh},{text[end:]}"
    return f"{text[: last.end]},{text[last.end : end]}{fresh}{text[end:]}"


def _cut_json(text: str, path: KeyPath, value: Any) -> str:
    at, children, close, _ = _container(text, path)
    number = max(at for at, one in enumerate(children) if one.name == path[-1])
    child = children[number]
    start, end = len(text[: child.start].rstrip(_BLANK)), child.comma or child.end
    if len(children) == 1:
        between = text[at + 1 : start] + text[end:close]
        return text[: at + 1] + (between if between.strip() else "") + text[close:]
    if number == len(children) - 1 and not child.comma:
        before = children[number - 1]
        return text[: before.end] + text[before.comma : start] + text[end:]
    if number == 0 and not text[end : children[1].start].strip():
        return text[: child.start] + text[children[1].start :]
    return text[:start] + text[end:]


def _rendered(text: str, value: Any, lead: str) -> str:
    """Return a value on its own lines, indented as what leads to it, or all on one where that is the habit."""
    if "\n" not in lead:
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, indent=_indent(text)).replace("\n", lead)


def _indent(text: str) -> str:
    found = re.search(r"\n([ \t]+)[\"'/\w]", text)
    return found[1] if found else "  "


def _lead(text: str, start: int) -> str:
    """Return the blanks before a member or item: a line break and its indentation, or just a space."""
    blank = text[len(text[:start].rstrip(_BLANK)) : start]
    return "\n" + blank.rpartition("\n")[2] if "\n" in blank else " " * bool(blank)


# --- TOML -------------------------------------------------------------------------------------------------


def _put_table(text: str, path: KeyPath, value: Any) -> str:
    """Write a table in the place of the one that is there, or at the end of the text.

    tomlkit would remove comments above the next table with ours, and put our header above the keys that follow a
    dotted one.
    """
    return _spliced(text, path, "" if value is MISSING else _by_tomlkit("", path, value))


def _by_tomlkit(text: str, path: KeyPath, value: Any) -> str:
    """Edit what is no table of its own: an inline table, a dotted key."""
    import tomlkit  # takes longer to import than all of setup
    from tomlkit.exceptions import TOMLKitError

    document = tomlkit.parse(text)
    if document.as_string() != text:
        raise ValueError("the edit would reorder the file")
    node: Any = document
    try:
        for name in path[:-1]:
            if name not in node:
                node[name] = tomlkit.table(is_super_table=True)
            node = node[name]
        if value is MISSING:
            del node[path[-1]]
        else:
            node[path[-1]] = value if isinstance(node, tomlkit.items.InlineTable) else _item(value)
    except TOMLKitError as exc:
        raise ValueError(str(exc)) from exc
    return document.as_string()


def _item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    import tomlkit

    table = tomlkit.table()
    for name, one in value.items():
        table.add(name, one)
    return table


def _spliced(text: str, path: KeyPath, block: str) -> str:
    """Return the text with ``block`` in the place of a table and those below it; comments above the next table stay."""
    kept: list[str] = []
    below: list[str] = []
    place = -1
    for header, lines in _sections(text):
        if header[: len(path)] == path:
            place = len(kept) if place < 0 else place
            below = [*filter(str.strip, below), *lines[_own_end(lines) :]]
        else:
            kept += below + (_without_key(lines, path[len(header) :]) if header == path[: len(header)] else lines)
            below = []
    kept += below
    if place >= 0:
        # Of two empty lines around the table one came with it.
        spare = not block and place and not (kept[place - 1].strip() or "".join(kept[place : place + 1]).strip())
        return "".join([*kept[: place - bool(spare)], block, *kept[place:]])
    whole = "".join(kept)
    whole += "" if whole.endswith("\n") or not whole else "\n"
    return f"{whole}\n{block}" if whole.strip() and block else whole + block


def _without_key(lines: list[str], path: KeyPath) -> list[str]:
    """Return lines without those of a dotted key, as ``mcp_servers.engram.command = "x"`` before the first table."""
    return [line for line in lines if line.lstrip().startswith("[") or _names(line)[: len(path)] != path]


def _sections(text: str) -> Iterator[tuple[KeyPath, list[str]]]:
    """Yield the lines below each header of a table, it included, with its path; those before the first have none."""
    path: KeyPath = ()
    lines: list[str] = []
    before = ""
    for line in lines_of(text, ends=True):
        if line.lstrip().startswith("[") and (header := _names(line)) and _is_whole(before):
            yield path, lines
            path, lines = header, []
        lines.append(line)
        before += line
    yield path, lines


def _names(line: str) -> KeyPath:
    """Return the path in the header of a table, or of the key and the first below it; () for a line that is neither."""
    try:
        node: Any = tomllib.loads(line)
    except ValueError:
        return ()
    path: list[str] = []
    while node and isinstance(node, dict | list):
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


def _own_end(lines: list[str]) -> int:
    """Return where the blank lines and comments begin that stand at the end, above what comes next."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _edit_json(text: str, path: KeyPath, value: Any) -> str:
    return _cut_json(text, path, value) if value is MISSING else _put_json(text, path, value)


# --- YAML -------------------------------------------------------------------------------------------------


def _yaml(text: str) -> Any:
    """Return the values; a key with nothing behind it holds an empty mapping. Raises ValueError."""
    import yaml  # for one agent

    try:
        values = yaml.safe_load(text) or {}
    except yaml.YAMLError as exc:
        raise ValueError(" ".join(str(exc).split())) from exc
    return {name: {} if one is None else one for name, one in values.items()} if isinstance(values, dict) else values


def _edit_yaml(text: str, path: KeyPath, value: Any) -> str:
    """Edit a member of a mapping at the top that is written in lines, or remove that mapping: by whole lines."""
    import yaml

    lines = lines_of(text, ends=True)
    lines[-1:] = [line if line.endswith("\n") else line + "\n" for line in lines[-1:]]
    root = yaml.compose(text)
    held = _yaml_member(root, path[0])
    if held is None:
        return "".join([*lines, f"{path[0]}:\n", *_yaml_lines(path[1], value, 2)])
    if len(path) == 1:
        return "".join(lines[: held.first] + lines[held.end :])
    if getattr(held.value, "flow_style", False):
        if held.value.value:
            raise ValueError("it is written in braces")
        lines[held.first] = re.sub(r" *\{ *\}", "", lines[held.first], count=1)
    indent = held.value.value[0][0].start_mark.column if held.value.value else 2
    fresh = [] if value is MISSING else _yaml_lines(path[1], value, indent)
    member = _yaml_member(held.value, path[1])
    first, end = (member.first, member.end) if member else (held.end, held.end)
    return "".join([*lines[:first], *fresh, *lines[end:]])


@dataclass(slots=True)
class _Member:
    """A member of a mapping: its value's node, its first line, and the line behind its last."""

    value: Any
    first: int
    end: int


def _yaml_member(node: Any, name: str | int) -> _Member | None:
    pairs = node.value if node is not None and isinstance(node.value, list) else []
    for key, value in reversed(pairs):
        if key.value == name:
            return _Member(value, key.start_mark.line, _yaml_end(key, value))
    return None


def _yaml_end(key: Any, value: Any) -> int:
    """Return the line behind a value; the mark of a mapping stands behind the comments that follow it."""
    while isinstance(value.value, list) and value.value and not value.flow_style:
        last = value.value[-1]
        key, value = last if isinstance(last, tuple) else (last, last)
    return int(max(key.end_mark.line, value.end_mark.line - (value.end_mark.column == 0))) + 1


def _yaml_lines(name: str | int, value: dict[str, Any], indent: int) -> list[str]:
    """Return the lines of a mapping. What JSON writes in one line is YAML as well."""
    members = [f"{' ' * indent * 2}{key}: {json.dumps(one, ensure_ascii=False)}\n" for key, one in value.items()]
    return [f"{' ' * indent}{name}:\n", *members]


_PARSERS: dict[str, Callable[[str], Any]] = {"toml": tomllib.loads, "yaml": _yaml}
_EDITS: dict[str, tuple[_Edit, ...]] = {
    "json": (_edit_json,),
    "toml": (_put_table, _by_tomlkit),
    "yaml": (_edit_yaml,),
}
