"""Routes: a function for each, what it reads of a request, and the lookup by path.

A parameter that the path names is taken from there. Those of ``_QUERY``, and every parameter of a GET or a DELETE, is
taken from the query, any other from the JSON body. A parameter whose type is a model stands for the model's fields.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, create_model

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import (
    EmptyFieldError,
    EmptyQueryError,
    InvalidArgumentError,
    InvalidInputError,
    InvalidTextError,
)
from engram_py.interfaces.http.answers import answer_type
from engram_py.interfaces.http.errors import InvalidPathError
from engram_py.interfaces.http.parameters import SEARCHED, AddressQuery, Body, Needed
from engram_py.interfaces.input_checks import as_text, is_text
from engram_py.interfaces.operations import OBSERVATION, Operation, Parameter

MOST_BODY = 8 * 1024 * 1024
MOST_FIELDS = 100
_KINDS: dict[Any, Any] = {str: str, int: int, bool: bool, float: float, list: list[str], OBSERVATION: int}
# What a function may take that no request names: the memory, a body that is not JSON to us, and the notes.
_NOT_NAMED = ("app", "raw", "notes")
_QUERY = ("cwd", "expected_project")
_PARTS: dict[str, type[BaseModel]] = {"path": BaseModel, "query": AddressQuery, "body": Body}

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True)
class Route:
    """A registered route. ``answers`` is its answer: a model, a value class that goes out whole, or a list of one.

    ``of`` is the operation whose parameters it takes besides the function's own; the function is given them by name.
    ``lenient``: half a character in its body becomes a question mark.
    """

    method: str
    path: str
    answers: Any
    function: Function
    status: int = 200
    errors: tuple[int, ...] = ()
    most_body: int = MOST_BODY
    lenient: bool = False
    headers: Mapping[str, str] | None = None
    of: Operation[Any] | None = None

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern of the path, with slashes inside of its parts encoded; ``{path}`` matches several parts."""
        written = re.escape(self.path).replace(r"\{path\}", "(?P<path>.*)")
        return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]*)", written), re.DOTALL)

    @property
    def address(self) -> str:
        """The method and the path, as in ``GET /stats``."""
        return f"{self.method} {self.path}"

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def summary(self) -> str:
        return " ".join((self.function.__doc__ or "").split())

    @cached_property
    def answer(self) -> TypeAdapter[Any]:
        return TypeAdapter(answer_type(self.answers))

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        parameters = inspect.signature(self.function, eval_str=True).parameters.values()
        return {parameter.name: parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}

    @cached_property
    def models(self) -> dict[str, type[BaseModel]]:
        """The models of ``path``, ``query`` and ``body``; of a part that the function does not take there is none."""
        fields: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
        groups: dict[str, list[type[BaseModel]]] = {part: [] for part in _PARTS}
        for name, parameter in self.parameters.items():
            part, kind = self._part_of(name), parameter.annotation
            if name in _NOT_NAMED or name in AddressQuery.model_fields:
                continue
            if _is_group(kind):
                groups[part].append(kind)
            else:
                default = ... if parameter.default is parameter.empty else parameter.default
                # `in` is a keyword of Python's, so its parameter is `in_`.
                fields[part][name] = (kind, Field(default, alias=name.rstrip("_")))
        grouped = {name for models in groups.values() for group in models for name in group.model_fields}
        for one in self.shared:
            if one.name not in grouped:
                fields[self._part_of(one.name)][one.name] = _field_of(one)
        title = self.name.title().replace("_", "")
        return {
            part: create_model(f"{title}{part.title()}", __base__=(*groups[part], base), **fields[part])
            for part, base in _PARTS.items()
            if fields[part] or groups[part] or part == "query"
        }

    @cached_property
    def shared(self) -> tuple[Parameter, ...]:
        """The parameters of its operation that the function does not name."""
        return tuple(one for one in (self.of.parameters if self.of else ()) if one.name not in self.parameters)

    def _part_of(self, name: str) -> str:
        if f"{{{name}}}" in self.path:
            return "path"
        return "query" if self.method in ("GET", "DELETE") or name in _QUERY else "body"

    def takes(self, name: str) -> bool:
        return name in self.parameters

    @property
    def takes_body(self) -> bool:
        return self.takes("raw") or "body" in self.models

    def arguments(self, parts: Mapping[str, BaseModel], **more: Any) -> dict[str, Any]:
        """Return the function's arguments: those in the parts of a request, and those of ``more`` that it takes."""
        arguments = {name: value for name, value in more.items() if self.takes(name)}
        for name, parameter in self.parameters.items():
            if name in _NOT_NAMED:
                continue
            part, kind = parts[self._part_of(name)], parameter.annotation
            if _is_group(kind):
                values = {field: getattr(part, field) for field in kind.model_fields}
                arguments[name] = kind.model_construct(**values)
            else:
                arguments[name] = getattr(part, name)
        shared = {one.name: getattr(parts[self._part_of(one.name)], one.name, None) for one in self.shared}
        return arguments | shared

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


def _field_of(parameter: Parameter) -> tuple[Any, Any]:
    """Return the type and the default of a parameter of an operation, as pydantic takes them."""
    kind = _KINDS[parameter.kind]
    if parameter.needed:
        return Annotated[
            Needed if kind is str and not parameter.blank else kind, Field(description=parameter.description)
        ], ...
    return Annotated[kind | None, Field(description=parameter.description)], parameter.default


def _is_group(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


ROUTES: list[Route] = []


def route(method: str, path: str, answers: Any = dict[str, Any], **more: Any) -> Callable[[F], F]:
    """Register a function of ``app`` and the parameters of a request as the route ``method path``.

    Of the value it returns go out the fields that ``answers`` has. One that takes ``notes`` may add to what is told
    about the request.
    """

    def register(function: F) -> F:
        ROUTES.append(Route(method, path, answers, function, **more))
        return function

    return register


def routes_at(parts: Iterable[str]) -> dict[str, tuple[Route, dict[str, str]]]:
    """Return the route of each method of the path with these parts, and the variable ones of them.

    A literal part wins over a variable one. Where there is one for any method, a variable one has to fit as well:
    ``passive`` is no observation.
    """
    path = "/" + "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)
    matches = [(each, match.groupdict()) for each in ROUTES if (match := each.pattern.fullmatch(path))]
    pairs = [(each, {name: unquote(text) for name, text in values.items()}) for each, values in matches]
    if not all(values for _, values in pairs):
        pairs = [(each, values) for each, values in pairs if not values or _fits(each, values)]
    return {each.method: (each, values) for each, values in sorted(pairs, key=lambda pair: -len(pair[1]))}


def _fits(one: Route, values: dict[str, str]) -> bool:
    try:
        one.parse("path", values)
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
            raise InvalidArgumentError(name, said=f"{name} was given twice", step="give it once")
        values.setdefault(name, value)
    return values
