"""What a tool is: a function from an open memory and typed arguments to a value, and its place in the list."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, Any, ParamSpec, TypeVar

from engram_py.dataclass import dataclass, field
from engram_py.errors import InvalidArgumentError, InvalidTextError
from engram_py.interfaces.arguments import as_text, is_text, mended_names, unknown_names
from engram_py.interfaces.mcp.argument_types import REQUIRED, Argument, Before, Field, Handle

Hints = dict[str, bool]

READS: Hints = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
WRITES: Hints = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
SETTLES: Hints = WRITES | {"idempotentHint": True}
DELETES: Hints = SETTLES | {"destructiveHint": True}

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

    @cached_property
    def description(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())

    @cached_property
    def arguments(self) -> dict[str, Argument]:
        """What the function takes besides the memory, by its own names for it."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        hints = _resolved({one.name: one.annotation for one in parameters}, self.function)
        # `from` is a keyword of Python's, so its parameter is `from_`.
        return {
            one.name: Argument(
                one.name.rstrip("_"),
                hints[one.name],
                REQUIRED if one.default is inspect.Parameter.empty else one.default,
            )
            for one in parameters
        }

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The published input schema."""
        arguments = self.arguments.values()
        properties: dict[str, Any] = {one.name: one.schema for one in arguments if one.schema is not None}
        properties["response_format"] = {"enum": list(self.formats)}
        required = [one.name for one in arguments if one.required]
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})

    @property
    def wire(self) -> dict[str, Any]:
        """The tool as the protocol lists it."""
        annotations = {"title": self.title, **self.hints}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.parameters,
            "annotations": annotations,
        }

    def parse(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Return the checked arguments and the response format.

        What only reads takes half a character for a question mark: it may have been cut off, and nothing is written.

        Raises InvalidArgumentError, InvalidTextError.
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
        values = {name: _value(one, given.get(one.name)) for name, one in self.arguments.items()}
        if self.hints is READS:
            return {name: as_text(one) if isinstance(one, str) else one for name, one in values.items()}, str(answer)
        for name, value in values.items():
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and not is_text(text):
                    raise InvalidTextError(name, "a lone surrogate")
        return values, str(answer)

    def remarks(self, given: Mapping[str, Any]) -> list[str]:
        """Return a sentence for each unknown argument, naming the one it resembles, and for each that was changed."""
        known = {one.name for one in self.arguments.values()} | {"response_format"}
        notes = unknown_names((name for name in given if name not in UNUSED | self.aliases.keys()), known)
        return notes + (mended_names(given) if self.hints is READS else [])


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
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a function ``(app, arguments…) -> value`` as the tool of its name."""

    def register(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__
        TOOLS[name] = Tool(name, title, hints, function, aliases or {}, formats, nothing)
        return function

    return register


def _resolved(annotations: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the arguments; what the memory and the answer are need not be imported to list the tool."""
    carrier = SimpleNamespace(__annotations__=annotations)
    return typing.get_type_hints(carrier, globalns=function.__globals__, include_extras=True)
