"""What a tool is: a function from an open memory and typed arguments to a value, and its place in the list. What an
argument may be is read from its annotation, as a JSON schema and as a check of what was sent.

The check takes what pydantic takes (a test compares them), and is here because importing that costs a server more
than all of its own does.
"""

from __future__ import annotations

import inspect
import json
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar

from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import InvalidArgumentError, InvalidTextError
from engram_py.base.lazy import regex
from engram_py.interfaces.input_checks import (
    as_text,
    is_text,
    mended_names,
    names_document,
    nearest,
    unknown_names,
)
from engram_py.interfaces.mcp.argument_checks import SwallowedArgumentsError, UnknownArgumentError, swallowed
from engram_py.interfaces.operations import OBSERVATION, Operation, Parameter

REQUIRED: Any = object()


@dataclass(frozen=True)
class Field:
    """The schema of an argument. ``texts`` are the properties of each object in a list of objects. ``quiet``: it is
    accepted, and not published."""

    description: str = ""
    enum: Sequence[str] = ()
    texts: Sequence[str] = ()
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
        """Return the schema that is published: nothing that a model does not need or that one of them refuses.

        Strict modes refuse ``default``, so the description says it.
        """
        found = dict(self._schema)
        for part in self._fields:
            if part.quiet:
                return None
            found |= {"enum": list(part.enum)} if part.enum else {}
            found |= {"items": _object_of(part.texts)} if part.texts else {}
            found |= {"description": part.description} if part.description else {}
        if not self.required and self.default not in (None, "", False):
            found["description"] = f"{found.get('description', '')} Default: {self.default}.".strip()
        return found

    @property
    def names_observation(self) -> bool:
        """Whether it is the id of an observation."""
        return _without_hash in self._before

    def read(self, value: object) -> Any:
        """Return the value as the tool takes it. Raises InvalidArgumentError."""
        for change in self._before:
            try:
                value = change(value)
            except ValueError as exc:
                raise InvalidArgumentError(self.name, value, expected=str(exc)) from None
        return self._check(self.name, value)


def _object_of(texts: Sequence[str]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in texts}}


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
    list[dict[str, Any]]: ({"type": "array", "items": {"type": "object"}}, _objects),
}


Hints = dict[str, bool]

READS: Hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
WRITES: Hints = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
SETTLES: Hints = WRITES | {"idempotentHint": True}
DELETES: Hints = SETTLES | {"destructiveHint": True}
REPLACES: Hints = WRITES | {"destructiveHint": True}

# Engram asks for these after an ambiguous project; here a project argument is enough, so they are taken and unused.
UNUSED = frozenset({"project_choice_reason", "recovery_token"})
FORMATS = ("text", "json")


def _without_hash(value: object) -> object:
    if isinstance(value, bool):  # true is 1 to Python, and would open or delete observation 1
        raise ValueError("an observation id, as in [#12]")
    return value.strip().removeprefix("[").removesuffix("]").removeprefix("#") if isinstance(value, str) else value


def _as_list(value: object) -> object:
    """Some hosts send a list as the JSON text of one, and a model may write ``a, b``."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = value.split(",")
    return found if isinstance(found, list) else [value]


# Answers show observations as [#12], so that is what a model may send back.
ObservationId = Annotated[int, Before(_without_hash)]
# What the schema calls a number may also be the handle of a document, as answers show it.
ObservationOrDocument = Annotated[Handle, Before(_without_hash)]

Words = Annotated[list[str], Before(_as_list)]

# Accepted, but not in the published schema: what a program sends, or only Engram's callers know.
QUIET = Field(quiet=True)


@dataclass(frozen=True)
class Tool:
    """A registered tool. ``aliases`` are other names of arguments; ``formats`` what response_format takes,
    ``nothing`` the answer in the place of an empty text."""

    name: str
    title: str
    hints: Hints
    function: Callable[..., Any]
    aliases: Mapping[str, str] = field(default_factory=dict)
    formats: tuple[str, ...] = FORMATS
    nothing: str = ""
    operations: tuple[Operation[Any], ...] = ()

    @cached_property
    def description(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """Return the arguments by their names in the function: those it names and must have, those of its operations,
        and the rest."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        parameters = [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]
        hints = _resolved({one.name: one.annotation for one in parameters}, self.function)
        # `from` is a keyword of Python's, so its parameter is `from_`.
        own = {
            one.name: Argument(
                one.name.rstrip("_"),
                hints[one.name],
                REQUIRED if one.default is inspect.Parameter.empty else one.default,
            )
            for one in parameters
        }
        shared = {name: argument for name, argument in _shared(self.operations).items() if name not in own}
        first = {name: argument for name, argument in own.items() if argument.required}
        return first | shared | own

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The published input schema."""
        arguments = self.arguments.values()
        properties: dict[str, Any] = {one.name: one.schema for one in arguments if one.schema is not None}
        if (
            self.formats != FORMATS
        ):  # every tool takes these two; text is what a model reads, JSON what a program asks for
            properties["response_format"] = {"type": "string", "enum": list(self.formats)}
        required = [one.name for one in arguments if one.required]
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})

    @property
    def wire(self) -> dict[str, Any]:
        """The tool as the protocol lists it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.parameters,
            "annotations": {"title": self.title, **self.hints},
        }

    def parse(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the checked arguments and the response format.

        What only reads takes half a character for a question mark: it may have been cut off, and nothing is written.

        Raises InvalidArgumentError, InvalidTextError, UnknownArgumentError, SwallowedArgumentsError.
        """
        given = dict(arguments)
        answer = given.pop("response_format", None) or self.formats[0]
        if answer == "text":
            answer = self.formats[0]
        if answer not in self.formats:
            raise InvalidArgumentError("response_format", answer, expected=f"one of {', '.join(self.formats)}")
        for alias, name in self.aliases.items():
            if alias in given:
                value = given.pop(alias)
                given.setdefault(name, value)
        for name, value in given.items():
            if isinstance(value, str) and (
                taken := swallowed(name, value, [one.name for one in self.arguments.values()])
            ):
                raise SwallowedArgumentsError(self.name, name, taken)
        values = {name: _value(one, given.get(one.name)) for name, one in self.arguments.items()}
        self._refuse_unknown(given)
        if self.hints is READS:
            return {name: as_text(one) if isinstance(one, str) else one for name, one in values.items()}, str(answer)
        for name, value in values.items():
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and not is_text(text):
                    raise InvalidTextError(name, "a lone surrogate")
        return values, str(answer)

    def _refuse_unknown(self, given: Mapping[str, Any]) -> None:
        """Refuse an argument without which the call would write something else than was meant.

        That is any one of a call that destroys; of other writes a misspelled one, and one of another tool. What only
        reads is answered, with a note.
        """
        own = {one.name for one in self.arguments.values()}
        strange = [name for name in given if name not in own | UNUSED | set(self._guards) and given[name] is not None]
        if self.hints is READS or not strange:
            return
        of_others = {one.name for tool in TOOLS.values() for one in tool.arguments.values()} - {"session_id"}
        for name in strange:
            near = nearest(name, own - given.keys())  # beside the one that was meant it says nothing new
            if self.hints["destructiveHint"] or near or name in of_others:
                raise UnknownArgumentError(self.name, name, near, sorted(own))

    def expected_project(self, given: Mapping[str, Any]) -> object:
        """Return the project that a call expects to write in. One that names observations may call it ``project``."""
        found = [given[name] for name in self._guards if given.get(name) is not None]
        return found[0] if found else None

    @cached_property
    def _guards(self) -> tuple[str, ...]:
        """The arguments that say where a call expects to write, which every tool that writes takes."""
        if self.hints is READS:
            return ()
        names_one = any(one.names_observation for one in self.arguments.values())
        return (
            ("expected_project", "project") if names_one and "project" not in self.arguments else ("expected_project",)
        )

    def named_ids(self, values: Mapping[str, Any]) -> list[int]:
        """Return the observations that the checked arguments name."""
        named = [values[name] for name, one in self.arguments.items() if one.names_observation]
        return [one for one in named if isinstance(one, int)]

    def remarks(self, given: Mapping[str, Any]) -> list[str]:
        """Return a sentence for each unknown argument, naming the one it resembles, and for each that was changed."""
        known = {one.name for one in self.arguments.values()} | {"response_format"}
        taken = UNUSED | self.aliases.keys() | set(self._guards)
        notes = unknown_names((name for name in given if name not in taken), known)
        return notes + (mended_names(given) if self.hints is READS else [])


_ANNOTATIONS: dict[Any, Any] = {list: Words, OBSERVATION: ObservationId}


def _shared(operations: Sequence[Operation[Any]]) -> dict[str, Argument]:
    """Return the arguments of several operations by name. What only some of them need is not required."""
    found: dict[str, Argument] = {}
    parameters = [one for operation in operations for one in operation.parameters]
    for one in parameters:
        if one.name not in found:
            named = [same for same in parameters if same.name == one.name]
            needed = len(named) == len(operations) and all(same.needed for same in named)
            found[one.name] = _argument(one, needed=needed)
    return found


def _argument(parameter: Parameter, *, needed: bool) -> Argument:
    kind = _ANNOTATIONS.get(parameter.kind, parameter.kind)
    note = QUIET if parameter.tool is None else Field(description=parameter.tool, enum=parameter.choices)
    default = False if parameter.kind is bool and parameter.default is None else parameter.default
    return Argument(parameter.name, Annotated[kind, note], REQUIRED if needed else default)


def _value(argument: Argument, given: object) -> Any:
    if given is not None:
        return argument.read(given)
    if argument.required:
        raise InvalidArgumentError(argument.name, None, expected="given")
    return argument.default


TOOLS: dict[str, Tool] = {}

P = ParamSpec("P")
R = TypeVar("R")


def tool(
    *,
    title: str,
    hints: Hints,
    aliases: Mapping[str, str] | None = None,
    formats: tuple[str, ...] = FORMATS,
    nothing: str = "",
    of: Operation[Any] | tuple[Operation[Any], ...] = (),
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a function ``(app, arguments…) -> value`` as the tool of its name.

    It is given the parameters of the operations that it is ``of`` by name.
    """
    operations = (of,) if isinstance(of, Operation) else of

    def register(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__
        TOOLS[name] = Tool(name, title, hints, function, aliases or {}, formats, nothing, operations)
        return function

    return register


def _resolved(annotations: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the arguments; what the memory and the answer are need not be imported to list the tool."""
    carrier = SimpleNamespace(__annotations__=annotations)
    return typing.get_type_hints(carrier, globalns=function.__globals__, include_extras=True)
