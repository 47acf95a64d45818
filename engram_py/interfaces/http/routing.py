"""What an operation is: a function from an open memory and checked arguments to a value, and its route."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import GenericAlias
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from engram_py.dataclass import dataclass
from engram_py.errors import EmptyFieldError, EmptyQueryError, InvalidArgumentError, InvalidInputError, InvalidTextError
from engram_py.interfaces.arguments import as_text, is_text
from engram_py.times import to_engram

MOST_BODY = 8 * 1024 * 1024
MAX_INTEGER = 2**63 - 1


class Path(BaseModel):
    """The variable parts of a path."""

    model_config = ConfigDict(extra="forbid")


class Query(BaseModel):
    """The part of an address after ``?``. What nobody knows is ignored and noted. ``SEARCHES``: its text is a query."""

    model_config = ConfigDict(extra="ignore")
    SEARCHES: ClassVar[bool] = False


class Body(BaseModel):
    """A JSON object. Types are taken at their word: ``"7"`` is text. Unknown names are ignored and noted, null is left
    out."""

    model_config = ConfigDict(extra="ignore", strict=True)


class Question(Body):
    """A body that only asks: half a character in it is read as a question mark."""


class Answer(BaseModel):
    """What goes out: a field that is None is left out, as Engram does."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True, from_attributes=True)

    @classmethod
    def of(cls, value: object, **more: Any) -> Self:
        """The answer that has ``more``, and in every other field what ``value`` holds under its name."""
        names = [name for name in cls.model_fields if name not in more and hasattr(value, name)]
        return cls.model_validate({name: getattr(value, name) for name in names} | more)


def _whole(value: object) -> object:
    """An integer, or nothing at all for what is none: Engram takes its own default then."""
    try:
        number = int(str(value)) if len(str(value)) <= 20 else None
    except ValueError:
        return None
    return None if number is None else max(-MAX_INTEGER, min(MAX_INTEGER, number))


def _most(value: object) -> object:
    number = _whole(value)
    return number if isinstance(number, int) and number > 0 else None


def _start(value: object) -> object:
    number = _whole(value)
    return number if isinstance(number, int) and number >= 0 else None


_TRUE, _FALSE = ("1", "t", "T", "true", "True", "TRUE"), ("0", "f", "F", "false", "False", "FALSE")


def _switch(value: object) -> object:
    return True if value in _TRUE else False if value in _FALSE or value is None else None


def _strict_switch(value: object) -> object:
    if value not in (*_TRUE, *_FALSE):
        raise ValueError("true or false")
    return value in _TRUE


# Of the small settings of a question Engram ignores what it cannot read; so does this, and notes it.
LENIENT: dict[Callable[..., Any], str] = {
    _whole: "a whole number",
    _most: "a whole number above 0",
    _start: "zero or a whole number above it",
    _switch: "true or false",
}
Whole = Annotated[int | None, BeforeValidator(_whole)]
Most = Annotated[int | None, BeforeValidator(_most)]
Start = Annotated[int | None, BeforeValidator(_start)]
Switch = Annotated[bool | None, BeforeValidator(_switch)]
StrictSwitch = Annotated[bool, BeforeValidator(_strict_switch)]
Id = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Needed = Annotated[str, Field(pattern=r"\S")]
# Of an answer: a time as Engram writes it, one that may be missing, and a text that is empty where there is none.
Time = Annotated[str, BeforeValidator(lambda text: to_engram(text) or text)]
MaybeTime = Annotated[str | None, BeforeValidator(to_engram)]
Text = Annotated[str, BeforeValidator(lambda text: text or "")]

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True)
class Operation:
    """A registered route. ``answers`` is the model of its answer, ``[Model]`` for a list. ``guarded``: works only on a
    server with a token. ``raw``: the body is not JSON to us."""

    method: str
    path: str
    answers: Any
    function: Function
    status: int = 200
    errors: tuple[int, ...] = ()
    most_body: int = MOST_BODY
    guarded: bool = False
    raw: bool = False
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
    def hints(self) -> dict[str, Any]:
        return typing.get_type_hints(self.function, include_extras=True)

    def model(self, part: str) -> type[BaseModel] | None:
        """The model of ``path``, ``query`` or ``body``, None where the function takes none."""
        found = self.hints.get(part)
        return found if isinstance(found, type) and issubclass(found, BaseModel) else None

    @cached_property
    def answer(self) -> TypeAdapter[Any]:
        kind: Any = GenericAlias(list, (*self.answers,)) if isinstance(self.answers, list) else self.answers
        return TypeAdapter(kind)

    def takes(self, part: str) -> bool:
        return part in self.hints

    def parse(self, part: str, values: Mapping[str, Any]) -> BaseModel:
        """The checked ``part`` of a request. Raises InvalidArgumentError, InvalidTextError."""
        model = self.model(part)
        assert model is not None
        if issubclass(model, Question):
            values = {as_text(name): as_text(one) if isinstance(one, str) else one for name, one in values.items()}
        check_text(values)
        try:
            return model.model_validate({name: one for name, one in values.items() if one is not None})
        except ValidationError as exc:
            raise _refusal(exc, model) from None


OPERATIONS: list[Operation] = []


def operation(method: str, path: str, answers: Any = dict[str, Any], **more: Any) -> Callable[[F], F]:
    """Register a function of ``app`` and any of ``path``, ``query``, ``body`` as the route ``method path``.

    Of the value it returns go out the fields that the model ``answers`` has. One that takes ``notes`` may add to what
    is told about the request (``response_notes.py``).
    """

    def register(function: F) -> F:
        OPERATIONS.append(Operation(method, path, answers, function, **more))
        return function

    return register


def matches(operation: Operation, segments: tuple[str, ...]) -> dict[str, str] | None:
    """The variable parts of a path that is this operation's, None when it is another's."""
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
    """The operation of each method that a path has. A literal part wins over a variable one, and where there is one
    for any method, a variable one has to fit as well: ``passive`` is no observation."""
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
    """The first thing wrong, in the words of every other door."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])[:80] or "the body"
    missing = first["type"] == "missing"
    if first["type"] == "string_pattern_mismatch" or (missing and model.model_fields[name].annotation is str):
        searches = getattr(model, "SEARCHES", False)
        return EmptyQueryError("" if missing else first["input"]) if searches else EmptyFieldError(name)
    if missing:
        return InvalidArgumentError(name, None, expected="given")
    expected = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return InvalidArgumentError(name, first["input"], expected=expected)


def given_once(pairs: Iterable[tuple[str, str]], model: type[BaseModel]) -> dict[str, str]:
    """The parameters of an address by name. Raises InvalidArgumentError when one that matters comes twice."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values and name in model.model_fields:
            raise InvalidArgumentError(name, "given twice", expected="given once")
        values.setdefault(name, value)
    return values
