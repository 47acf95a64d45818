"""Edit JSON with comments in place: untouched parts keep their bytes, comments and trailing commas included.

json-five parses into a model that remembers every blank and writes it back as it was. What it does not offer is where
the comma, the comment and the line break go when a member comes or leaves; that is what stands here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, cast

from json5 import JSON5DecodeError
from json5.dumper import ModelDumper, dumps
from json5.loader import ModelLoader, loads
from json5.model import Comment, JSONArray, JSONObject, JSONText, Key, LineComment, Node, String, Value

MISSING: Final = object()

_Blank = list[str | Comment]
_BIG = 20_000  # json-five needs about 40 µs a byte, and ~/.claude.json can hold megabytes
_TOO_BIG = 250_000
_MISREAD = re.compile("\\\\\\\\x|[\u2028\u2029]")
# A comment or a string as strict JSON has it, so that neither is looked for in the other.
_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")


class UnreadableTextError(ValueError):
    """The text cannot be parsed; the message says where."""


class JsonDocument:
    """A JSON or JSONC text, read and changed by path: ``("mcpServers", "engram")``.

    ``touching`` names the top-level members that will be asked for. In a big file the others are set aside unread.
    """

    def __init__(self, text: str, *, touching: frozenset[str] = frozenset()) -> None:
        self._aside: dict[str, str] = {}
        if len(text) > _BIG:
            text, self._aside = _set_aside(text, touching)
        if len(text) > _TOO_BIG:
            raise UnreadableTextError(f"{len(text):,} characters with comments are too many to edit in place")
        # json-five counts the \r of a line's end to the comment before it, so such a text is edited without.
        self._windows = "\r\n" in text and text.count("\n") == text.count("\r\n")
        text = text.replace("\r\n", "\n") if self._windows else text
        self._flat = "\n" not in text.strip() and _SPACE.sub("", text) not in ("", "{}")
        indent = re.search(r"\n([ \t]+)[\"'/\w]", text)
        self._indent = indent[1] if indent else "  "
        text, self._spelled = _respelled(text)
        try:
            self._model = _parse(text if text.strip() else "{}\n")
        except UnreadableTextError:
            text, self._aside = _set_aside(text, touching)
            if not self._aside:
                raise
            self._model = _parse(text)
        if not isinstance(self._model.value, JSONObject):
            raise UnreadableTextError("it does not hold a JSON object")

    def text(self) -> str:
        written = _write(self._model)
        for spelled, original in self._spelled.items():
            written = written.replace(spelled, original)
        written = written.replace("\n", "\r\n") if self._windows else written
        for token, original in self._aside.items():
            written = written.replace(f'"{token}"', original, 1)
        return written

    def get(self, path: tuple[str, ...]) -> Any:
        """Return the value at ``path``, MISSING where there is none."""
        found = self._find(path)
        return MISSING if found is None else _plain(found)

    def set(self, path: tuple[str, ...], value: Any) -> None:
        """Give the member a value, making the objects above it. An equal value keeps its spelling."""
        current = self.get(path)
        if current is not MISSING and json.dumps(current) == json.dumps(value):
            return
        parent = self._object(path[:-1])
        position = _position(parent, path[-1])
        if position is None:
            self._insert(parent, path[-1], value, len(path))
            return
        old = parent.values[position]
        fresh = self._value(value, _lead(parent, position))
        fresh.wsc_before, fresh.wsc_after = old.wsc_before, old.wsc_after
        parent.values[position] = fresh

    def append(self, path: tuple[str, ...], value: Any) -> None:
        """Put an item at the end of the list at ``path``, which is made when it is missing."""
        found = self._find(path)
        if found is None:
            self.set(path, [value])
            return
        if not isinstance(found, JSONArray):
            raise UnreadableTextError(f"{'.'.join(path)} is not a list")
        self._insert(found, None, value, len(path) + 1)

    def remove(self, path: tuple[str, ...]) -> None:
        """Take the member away, with its comma; comments around it stay."""
        parent = self._find(path[:-1])
        if isinstance(parent, JSONObject) and (position := _position(parent, path[-1])) is not None:
            _take_out(parent, position)

    def remove_items(self, path: tuple[str, ...], unwanted: Callable[[Any], bool]) -> None:
        """Take every item out of the list at ``path`` that ``unwanted`` says so of."""
        found = self._find(path)
        if isinstance(found, JSONArray):
            for position in reversed(range(len(found.values))):
                if unwanted(_plain(found.values[position])):
                    _take_out(found, position)

    def _find(self, path: tuple[str, ...]) -> Value | None:
        node: Value = self._model.value
        for name in path:
            if not isinstance(node, JSONObject) or (position := _position(node, name)) is None:
                return None
            node = node.values[position]
        return node

    def _object(self, path: tuple[str, ...]) -> JSONObject:
        found = self._find(path)
        if found is None:
            self.set(path, {})
            found = self._find(path)
        if not isinstance(found, JSONObject):
            raise UnreadableTextError(f"{'.'.join(path)} is not an object")
        return found

    def _value(self, value: Any, lead: str) -> Value:
        """Return a value's model; on its own lines, indented as what leads to it, or all on one where that is the
        habit."""
        indent = self._indent if "\n" in lead else None
        text, spelled = _respelled(json.dumps(value, ensure_ascii=False, indent=indent))
        self._spelled |= spelled
        return _parse(text.replace("\n", lead) if indent else text).value

    def _insert(self, parent: JSONObject | JSONArray, name: str | None, value: Any, depth: int) -> None:
        """Put a member or item last. The comment behind the one before it stays on that one's line."""
        made = "" if self._flat else "\n" + self._indent * depth
        lead = _lead(parent, -1) if parent.values else made
        fresh = self._value(value, lead)
        first: Node = fresh
        if isinstance(parent, JSONObject):
            first = _key(str(name))
            fresh.wsc_before = [" "]
        if parent.values:
            self._follow(parent, first, fresh, lead)
        else:
            parent.leading_wsc = [*_without_end(parent.leading_wsc), lead]
            fresh.wsc_after = [lead.removesuffix(self._indent)]
        if isinstance(parent, JSONObject):
            parent.keys.append(cast(Key, first))
        parent.values.append(fresh)

    def _follow(self, parent: JSONObject | JSONArray, first: Node, last: Value, lead: str) -> None:
        comma, before = parent.trailing_comma, parent.values[-1]
        behind = comma.wsc_after if comma else before.wsc_after
        kept = _without_end(behind)
        if kept and isinstance(kept[-1], LineComment) and "\n" not in lead:
            lead = "\n" + self._indent  # or the member would stand in the comment
        first.wsc_before = [*kept, lead or " "]
        closing: _Blank = [behind[-1]] if behind and isinstance(behind[-1], str) else []
        if comma:
            comma.wsc_after = closing
        else:
            before.wsc_after, last.wsc_after = [], closing


def _lead(parent: JSONObject | JSONArray, position: int) -> str:
    """Return the blanks before a member or item: a line break and its indentation, or just a space."""
    firsts: list[Any] = parent.keys if isinstance(parent, JSONObject) else parent.values
    index = position % len(firsts)
    blank = firsts[index].wsc_before if index else parent.leading_wsc
    last = blank[-1] if blank and isinstance(blank[-1], str) else ""
    return "\n" + last.rpartition("\n")[2] if "\n" in last else " " * bool(last)


def _take_out(parent: JSONObject | JSONArray, position: int) -> None:
    firsts: list[Any] = parent.keys if isinstance(parent, JSONObject) else parent.values
    first, last = firsts[position], parent.values[position]
    alone, final = len(firsts) == 1, position == len(firsts) - 1
    before, after = _without_end(first.wsc_before), last.wsc_after
    del firsts[position]
    if isinstance(parent, JSONObject):
        del parent.values[position]
    if alone:
        tail = parent.trailing_comma.wsc_after if parent.trailing_comma else after
        parent.trailing_comma = None
        kept = _without_end(parent.leading_wsc)
        parent.leading_wsc = [*kept, *tail] if _comments(kept) or _comments(tail) else []
    elif final and parent.trailing_comma:
        parent.trailing_comma.wsc_after = [*before, *parent.trailing_comma.wsc_after]
    elif final:
        left = parent.values[-1]
        left.wsc_after = [*left.wsc_after, *before, *after]
    elif position == 0:
        following = firsts[0].wsc_before
        if _comments(following):
            parent.leading_wsc = [*_without_end(parent.leading_wsc), *following]
        firsts[0].wsc_before = []
    elif _comments(before) or _comments(firsts[position].wsc_before):
        firsts[position].wsc_before = [*before, *firsts[position].wsc_before]
    else:
        firsts[position].wsc_before = first.wsc_before


def _without_end(blank: _Blank) -> _Blank:
    """Return the tokens without the last blanks, which belong to what comes next."""
    return blank[:-1] if blank and isinstance(blank[-1], str) else list(blank)


def _comments(blank: _Blank) -> bool:
    return any(isinstance(one, Comment) for one in blank)


def _position(parent: JSONObject, name: str) -> int | None:
    """Return the index of a member; of two with one name the later counts, as in every JSON parser."""
    found = [at for at, key in enumerate(parent.keys) if str(_plain_key(key)) == name]
    return found[-1] if found else None


def _key(name: str) -> Key:
    return cast(JSONObject, _parse(_respelled(json.dumps({name: 0}, ensure_ascii=False))[0]).value).keys[0]


def _write(node: Node) -> str:
    return str(dumps(node, dumper=cast(Any, ModelDumper())))


def _plain_key(key: Key) -> Any:
    return loads(key.raw_value) if isinstance(key, String) else getattr(key, "name", "")


def _plain(node: Value) -> Any:
    return loads(_write(node))


def _parse(text: str) -> JSONText:
    try:
        model = loads(text, loader=ModelLoader())
        same = _write(model) == text
    except JSON5DecodeError as exc:
        raise UnreadableTextError(str(exc).replace("\n", " ").strip()[:200]) from exc
    except RecursionError:
        raise UnreadableTextError("it is nested too deeply") from None
    if not isinstance(model, JSONText) or not same:
        raise UnreadableTextError("it cannot be written back unchanged")
    return model


def _respelled(text: str) -> tuple[str, dict[str, str]]:
    """Return the text with strings that json-five misreads in another spelling of the same, and the way back.

    It takes an escaped backslash before an x for the beginning of ``\\\\x41``, and U+2028 for the end of a line.
    """
    spelled: dict[str, str] = {}

    def respell(token: re.Match[str]) -> str:
        if token[0][0] != '"' or not _MISREAD.search(token[0]):
            return token[0]
        found = token[0].replace("\\\\", "\\u005c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        found = found if found not in text else found.replace("\\u005c", "\\u005C")
        spelled[found] = token[0]
        return found

    return (_TOKEN.sub(respell, text), spelled) if _MISREAD.search(text) else (text, spelled)


def _set_aside(text: str, touching: frozenset[str]) -> tuple[str, dict[str, str]]:
    """Return the text with a short token for each big top-level value that nobody asks for; as it is if it has
    comments."""
    decoder = json.JSONDecoder()
    aside: dict[str, str] = {}
    try:
        json.loads(text)
        at = text.index("{") + 1
        kept = [text[:at]]
        while text[(at := _skip(text, start := at))] != "}":
            name, at = decoder.raw_decode(text, at)
            value = _skip(text, _skip(text, at) + 1)
            _, end = decoder.raw_decode(text, value)
            token = f"\u241eengram {len(aside)}\u241e"
            if name in touching or end - value < len(token) or token in text:
                kept.append(text[start:end])
            else:
                aside[token] = text[value:end]
                kept.append(f'{text[start:value]}"{token}"')
            at = _skip(text, start := end)
            if text[at] == ",":
                at += 1
            kept.append(text[start:at])
    except (ValueError, IndexError, RecursionError):
        return text, {}
    return "".join(kept) + text[start:], aside


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
