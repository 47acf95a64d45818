"""What a tool is: a function from an open memory and typed arguments to a value, and its place in the list."""

from __future__ import annotations

import inspect
import json
import logging
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Annotated, Any, ParamSpec, TypeVar

from mcp.types import Tool as WireTool
from mcp.types import ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model
from pydantic.json_schema import SkipJsonSchema

from engram_py.errors import InvalidArgumentError, InvalidTextError
from engram_py.interfaces.arguments import as_text, is_text, mended_names, unknown_names

logger = logging.getLogger(__name__)

Hints = dict[str, bool]

READS: Hints = {"read_only_hint": True, "destructive_hint": False, "idempotent_hint": True, "open_world_hint": False}
WRITES: Hints = {"read_only_hint": False, "destructive_hint": False, "idempotent_hint": False, "open_world_hint": False}
SETTLES: Hints = WRITES | {"idempotent_hint": True}
DELETES: Hints = SETTLES | {"destructive_hint": True}

# Engram asks for these after an ambiguous project; here a project argument is enough, so they are taken and unused.
UNUSED = frozenset({"project_choice_reason", "recovery_token"})
FORMATS = ("text", "json")

# What an argument must be, by the first word of pydantic's error type.
_KINDS = {
    "int": "a whole number, such as 12",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "list": "a list of texts",
}


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
ObservationId = Annotated[int, BeforeValidator(_without_hash)]

Words = Annotated[list[str], BeforeValidator(_as_list)]

# Accepted, but not in the published schema: what a program sends, or only Engram's callers know.
QUIET: Any = SkipJsonSchema()  # type: ignore[type-arg]


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
    def model(self) -> type[BaseModel]:
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        hints = _resolved({one.name: one.annotation for one in parameters}, self.function)
        fields: dict[str, Any] = {}
        for parameter in parameters:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[parameter.name] = (hints[parameter.name], default)
        # `from` is a keyword of Python's, so its parameter is `from_`.
        config = ConfigDict(alias_generator=lambda name: name.rstrip("_"), extra="ignore", regex_engine="rust-regex")
        return create_model(self.name, __config__=config, **fields)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The published input schema, with nothing in it that a model does not need."""
        schema = slim(self.model.model_json_schema(by_alias=True))
        schema["properties"]["response_format"] = {"enum": list(self.formats)}
        return schema

    @property
    def wire(self) -> WireTool:
        annotations = ToolAnnotations(title=self.title, **self.hints)
        return WireTool(
            name=self.name, description=self.description, input_schema=self.parameters, annotations=annotations
        )

    def parse(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """The checked arguments and the response format.

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
        try:
            model = self.model.model_validate({name: value for name, value in given.items() if value is not None})
        except ValidationError as exc:
            raise _refusal(exc) from None
        values = {name: getattr(model, name) for name in type(model).model_fields}
        if self.hints is READS:
            return {name: as_text(one) if isinstance(one, str) else one for name, one in values.items()}, str(answer)
        for name, value in values.items():
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and not is_text(text):
                    raise InvalidTextError(name, "a lone surrogate")
        return values, str(answer)

    def remarks(self, given: Mapping[str, Any]) -> list[str]:
        """A sentence for each argument nobody knows, naming the one it resembles, and for each read otherwise."""
        known = {name.rstrip("_") for name in self.model.model_fields} | {"response_format"}
        notes = unknown_names((name for name in given if name not in UNUSED | self.aliases.keys()), known)
        return notes + (mended_names(given) if self.hints is READS else [])


def _refusal(error: ValidationError) -> InvalidArgumentError:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"]) or "arguments"
    if first["type"] == "missing":
        return InvalidArgumentError(name, None, expected="given")
    kind = _KINDS.get(first["type"].partition("_")[0])
    expected = kind or first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return InvalidArgumentError(name, first["input"], expected=expected)


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
    """The types of the arguments; what the memory and the answer are need not be imported to list the tool."""
    carrier = SimpleNamespace(__annotations__=annotations)
    return typing.get_type_hints(carrier, globalns=function.__globals__, include_extras=True)


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema without generated titles, null alternatives and null defaults: they cost tokens and say nothing."""
    properties = {name: _slim_property(one) for name, one in schema.get("properties", {}).items() if one}
    slimmed: dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        slimmed["required"] = schema["required"]
    return slimmed


def _slim_property(one: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in one.items() if key not in ("title", "anyOf", "default")}
    if "anyOf" in one:
        [kind, *_] = [option for option in one["anyOf"] if option.get("type") != "null"]
        kept = {**{key: value for key, value in kind.items() if key != "title"}, **kept}
    if one.get("default") not in (None, "", False):
        kept["default"] = one["default"]
    return kept
