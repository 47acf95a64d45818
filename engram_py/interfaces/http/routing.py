"""Routes: a function, the parameters its signature takes of a request, and the lookup by path.

A parameter that the path names is taken from there. ``cwd``, and every parameter of a GET or a DELETE, is taken from
the query, any other from the JSON body. A parameter whose type is a model stands for the model's fields; a model that
is a ``Query`` belongs to the query whatever the method is.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from engram_py.dataclass import dataclass
from engram_py.errors import EmptyFieldError, EmptyQueryError, InvalidArgumentError, InvalidInputError, InvalidTextError
from engram_py.interfaces.arguments import as_text, is_text
from engram_py.interfaces.http.answers import answer_type
from engram_py.interfaces.http.errors import InvalidPathError
from engram_py.interfaces.http.parameters import SEARCHED, Body, ExactBody, Path, Query

MOST_BODY = 8 * 1024 * 1024
MOST_FIELDS = 100
# What a function may take that no request names: the memory, a body that is not JSON to us, and the notes.
_NOT_NAMED = ("app", "raw", "notes")
_PARTS: dict[str, type[BaseModel]] = {"path": Path, "query": Query, "body": Body}

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True)
class Operation:
    """A registered route. ``answers`` is its answer: a model, a value class that goes out whole, or a list of one.

    ``lenient``: half a character in its body becomes a question mark. ``exact``: a name nobody knows is refused there.
    """

    method: str
    path: str
    answers: Any
    function: Function
    status: int = 200
    errors: tuple[int, ...] = ()
    most_body: int = MOST_BODY
    lenient: bool = False
    exact: bool = False
    headers: Mapping[str, str] | None = None

    @cached_property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path.strip("/").split("/"))

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def summary(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())

    @cached_property
    def answer(self) -> TypeAdapter[Any]:
        return TypeAdapter(answer_type(self.answers))

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        return dict(inspect.signature(self.function).parameters)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return typing.get_type_hints(self.function, include_extras=True)

    @cached_property
    def models(self) -> dict[str, type[BaseModel]]:
        """The models of ``path``, ``query`` and ``body``; of a part that the function does not take there is none."""
        fields: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}}
        groups: dict[str, list[type[BaseModel]]] = {"path": [], "query": [], "body": []}
        for name, parameter in self.parameters.items():
            kind = self._hints[name]
            if name in _NOT_NAMED or name in Query.model_fields:
                continue
            if _is_group(kind):
                groups[self._part_of(name)].append(kind)
                continue
            # `in` is a keyword of Python's, so its parameter is `in_`.
            alias = Field(alias=name.rstrip("_")) if name.endswith("_") else None
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[self._part_of(name)][name] = (Annotated[kind, alias] if alias else kind, default)
        title = "".join(word.title() for word in self.name.split("_"))
        return {
            part: create_model(f"{title}{part.title()}", __base__=(*groups[part], base), **fields[part])
            for part, base in (_PARTS | ({"body": ExactBody} if self.exact else {})).items()
            if fields[part] or groups[part] or part == "query"
        }

    def _part_of(self, name: str) -> str:
        if f"{{{name}}}" in self.segments:
            return "path"
        kind = self._hints[name]
        asks = self.method in ("GET", "DELETE") or name in Query.model_fields
        return "query" if asks or (_is_group(kind) and issubclass(kind, Query)) else "body"

    def takes(self, name: str) -> bool:
        return name in self.parameters

    def arguments(self, parts: Mapping[str, BaseModel]) -> dict[str, Any]:
        """Return the arguments of the function that are in the parsed parts of a request."""
        found: dict[str, Any] = {}
        for name in self.parameters:
            if name in _NOT_NAMED:
                continue
            part, kind = parts[self._part_of(name)], self._hints[name]
            if _is_group(kind):
                found[name] = kind.model_construct(**{field: getattr(part, field) for field in kind.model_fields})
            else:
                found[name] = getattr(part, name)
        return found

    def parse(self, part: str, values: Mapping[str, Any]) -> BaseModel:
        """Return the checked ``part`` of a request. Raises InvalidArgumentError, InvalidTextError."""
        model = self.models[part]
        if self.lenient and part == "body":
            values = {as_text(name): as_text(one) if isinstance(one, str) else one for name, one in values.items()}
        check_text(values)
        try:
            return model.model_validate({name: one for name, one in values.items() if one is not None})
        except ValidationError as exc:
            raise _refusal(exc, model) from None


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


OPERATIONS: list[Operation] = []


def operation(method: str, path: str, answers: Any = dict[str, Any], **more: Any) -> Callable[[F], F]:
    """Register a function of ``app`` and the parameters of a request as the route ``method path``.

    Of the value it returns go out the fields that ``answers`` has. One that takes ``notes`` may add to what is told
    about the request (``notes.py``).
    """

    def register(function: F) -> F:
        OPERATIONS.append(Operation(method, path, answers, function, **more))
        return function

    return register


def matches(operation: Operation, segments: tuple[str, ...]) -> dict[str, str] | None:
    """Return the variable parts of a path that is this operation's, None when it is another's."""
    if len(segments) != len(operation.segments):
        return None
    found = {}
    for wanted, given in zip(operation.segments, segments, strict=True):
        if wanted.startswith("{"):
            found[wanted.strip("{}")] = given
        elif wanted != given:
            return None
    return found


def route(segments: tuple[str, ...]) -> dict[str, tuple[Operation, dict[str, str]]]:
    """Return the operation of each method that a path has.

    A literal part wins over a variable one. Where there is one for any method, a variable one has to fit as well:
    ``passive`` is no observation.
    """
    found = [(one, values) for one in OPERATIONS if (values := matches(one, segments)) is not None]
    named = any(not values for _, values in found)
    fitting = [(one, values) for one, values in found if not values or not named or _fits(one, values)]
    return {one.method: (one, values) for one, values in sorted(fitting, key=lambda pair: -len(pair[1]))}


def _fits(operation: Operation, values: dict[str, str]) -> bool:
    try:
        operation.parse("path", values)
    except InvalidInputError:
        return False
    return True


def check_text(value: object, name: str = "") -> None:
    """Refuse half a character, in a name or a value, however deep: nothing here could store it or send it back.

    Raises InvalidTextError.
    """
    match value:
        case str():
            if not is_text(value):
                raise InvalidTextError(name or "the body", "a lone surrogate")
        case dict():
            for key, one in value.items():
                check_text(key, "a name")
                check_text(one, name or key)
        case list():
            for one in value:
                check_text(one, name)


def _refusal(error: ValidationError, model: type[BaseModel]) -> InvalidInputError:
    """Return the first thing wrong, in the words of every other interface."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])[:80] or "the body"
    missing = first["type"] == "missing"
    field = model.model_fields.get(name)
    if first["type"] == "string_pattern_mismatch" or (missing and field and field.annotation is str):
        searched = field is not None and SEARCHED in field.metadata
        return EmptyQueryError("" if missing else first["input"]) if searched else EmptyFieldError(name)
    if missing:
        return InvalidArgumentError(name, None, expected="given")
    expected = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return InvalidArgumentError(name, first["input"], expected=expected)


def fields_of(encoded: bytes) -> list[tuple[str, str]]:
    """Return the fields of an address or of a form. Raises InvalidPathError."""
    try:
        text = encoded.decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as exc:  # bytes that are not UTF-8, or a thousand fields
        raise InvalidPathError("not one this server reads") from exc


def given_once(pairs: Iterable[tuple[str, str]], model: type[BaseModel]) -> dict[str, str]:
    """Return the parameters of an address by name. Raises InvalidArgumentError when one that matters comes twice."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values and name in model.model_fields:
            raise InvalidArgumentError(name, "given twice", expected="given once")
        values.setdefault(name, value)
    return values
