"""What an argument of a tool may be: read from its annotation, as a JSON schema and as a check of what was sent.

It takes what pydantic takes (a test compares them), and is here because importing that costs a server more than all
of its own does.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Annotated, Any

from engram_py.dataclass import dataclass
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.arguments import names_document
from engram_py.lazy import regex

REQUIRED: Any = object()


@dataclass(frozen=True)
class Field:
    """What the schema says of an argument. ``quiet``: it is accepted, and not published."""

    description: str = ""
    enum: Sequence[str] = ()
    quiet: bool = False


@dataclass(frozen=True)
class Before:
    """Changes what was sent before it is checked. It raises ValueError with what is expected."""

    change: Callable[[object], object]


class Argument:
    """One argument of a tool, by its name on the wire."""

    def __init__(self, name: str, annotation: Any, default: Any = REQUIRED) -> None:
        kind, notes = _unfolded(annotation)
        self.name, self.annotation, self.default = name, annotation, default
        self.required = default is REQUIRED
        self._schema, self._check = KINDS[kind]
        self._before = [one.change for one in notes if isinstance(one, Before)]
        self._fields = [one for one in notes if isinstance(one, Field)]

    @property
    def schema(self) -> dict[str, Any] | None:
        """What is published of it, with nothing in it that a model does not need."""
        found = dict(self._schema)
        for field in self._fields:
            if field.quiet:
                return None
            found |= {"enum": list(field.enum)} if field.enum else {}
            found |= {"description": field.description} if field.description else {}
        if not self.required and self.default not in (None, "", False):
            found["default"] = self.default
        return found

    def read(self, value: object) -> Any:
        """Return the value as the tool takes it. Raises InvalidArgumentError."""
        for change in self._before:
            try:
                value = change(value)
            except ValueError as exc:
                raise InvalidArgumentError(self.name, value, expected=str(exc)) from None
        return self._check(self.name, value)


def _unfolded(annotation: Any) -> tuple[Any, list[Any]]:
    """Return the type without None, and what is noted beside it."""
    if typing.get_origin(annotation) is Annotated:
        kind, notes = _unfolded(annotation.__origin__)
        return kind, [*notes, *annotation.__metadata__]
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        kinds = [one for one in typing.get_args(annotation) if one is not type(None)]
        return _unfolded(kinds[0]) if len(kinds) == 1 else (annotation, [])
    return annotation, []


_WHOLE = regex(r"[+-]?[0-9]+(_[0-9]+)*(\.0+)?")
_TRUTHS = dict.fromkeys(("1", "on", "t", "true", "y", "yes"), True)
_TRUTHS |= dict.fromkeys(("0", "off", "f", "false", "n", "no"), False)


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise InvalidArgumentError(name, value, expected="text")


def _whole(name: str, value: object) -> int:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidArgumentError(name, value, expected="a finite number")
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(text := value.strip()):
        try:
            return int(text.partition(".")[0])
        except ValueError:  # more digits than Python reads
            pass
    raise InvalidArgumentError(name, value, expected="a whole number, such as 12")


Handle = int | str


def _handle(name: str, value: object) -> int | str:
    return value if isinstance(value, str) and names_document(value) else _whole(name, value)


def _number(name: str, value: object) -> float:
    try:
        if isinstance(value, int | float) or (isinstance(value, str) and value.isascii()):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise InvalidArgumentError(name, value, expected="a number")


def _truth(name: str, value: object) -> bool:
    found = _TRUTHS.get(value.lower()) if isinstance(value, str) else None
    if isinstance(value, int | float) and value in (0, 1):
        found = bool(value)
    if found is None:
        raise InvalidArgumentError(name, value, expected="true or false")
    return found


def _texts(name: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise InvalidArgumentError(name, value, expected="a list of texts")
    return [_text(f"{name}.{number}", one) for number, one in enumerate(value)]


def _objects(name: str, value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise InvalidArgumentError(name, value, expected="a list of objects")
    for number, one in enumerate(value):
        if not isinstance(one, dict):
            raise InvalidArgumentError(f"{name}.{number}", one, expected="an object")
    return value


KINDS: dict[Any, tuple[dict[str, Any], Callable[[str, object], Any]]] = {
    str: ({"type": "string"}, _text),
    int: ({"type": "integer"}, _whole),
    Handle: ({"type": "integer"}, _handle),
    float: ({"type": "number"}, _number),
    bool: ({"type": "boolean"}, _truth),
    list[str]: ({"type": "array", "items": {"type": "string"}}, _texts),
    list[dict[str, Any]]: ({"type": "array", "items": {"type": "object", "additionalProperties": True}}, _objects),
}
