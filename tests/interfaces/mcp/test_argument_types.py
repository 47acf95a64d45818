"""An argument is taken and refused as pydantic would, and its schema is pydantic's without what says nothing."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BeforeValidator, TypeAdapter, ValidationError, create_model
from pydantic import Field as PydanticField

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.mcp.profiles import declared
from engram_py.interfaces.mcp.tool_registry import KINDS, Argument, Before, Field, Handle

ODD: tuple[Any, ...] = (
    *("", " ", "1", " 1 ", "+1", "-1", "01", "--1", "1_0", "1__0", "_1", "1.", "1.0", "1.00", "1.5", ".0", "1e3"),
    *("\t2\n", "１", "0x1", "inf", "nan", "-inf"),
    *("true", "TRUE", " true", "y", "N", "off", "maybe", "t", "1.0e0", "9" * 5000),
    *(0, 1, 2, -1, 2**53, 2**70, 0.0, 1.0, 1.5, -0.0, 1e15, 5e-324, True, False, None),
    *([], ["a"], ["a", 1], [None], [["a"]], {}, {"a": 1}),
)  # fmt: skip
SENT = st.one_of(
    st.sampled_from(ODD),
    st.integers(),
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**53), max_value=2.0**53),
    st.text(alphabet="0123456789+-_. eytrufalsno", max_size=6),
    st.lists(st.one_of(st.text(max_size=3), st.integers()), max_size=3),
)


def ours(kind: Any, value: object) -> object:
    try:
        return repr(Argument("it", kind).read(value))
    except InvalidArgumentError:
        return "refused"


def theirs(kind: Any, value: object) -> object:
    try:
        return repr(TypeAdapter(kind).validate_python(value))
    except ValidationError:
        return "refused"


@pytest.mark.parametrize("kind", [one for one in KINDS if one is not Handle], ids=str)
@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
def test_odd_values_are_read_or_refused_as_pydantic_does(kind: Any, value: object) -> None:
    assert ours(kind, value) == theirs(kind, value)


@pytest.mark.parametrize("kind", [one for one in KINDS if one is not Handle], ids=str)
def test_any_value_is_read_or_refused_as_pydantic_does(kind: Any) -> None:
    @given(SENT)
    @example("1_000.0")
    def compare(value: object) -> None:
        assert ours(kind, value) == theirs(kind, value)

    compare()


def _pydantic(annotation: Any) -> Any:
    """The annotation in pydantic's own words."""
    if not hasattr(annotation, "__metadata__"):
        return annotation
    notes: list[Any] = []
    for note in annotation.__metadata__:
        if isinstance(note, Before):
            notes.append(BeforeValidator(note.change))
        elif isinstance(note, Field):
            told: dict[str, Any] = {"description": note.description} if note.description else {}
            told |= {"json_schema_extra": {"enum": list(note.enum)}} if note.enum else {}
            notes.append(PydanticField(**told))
    return Annotated[(_pydantic(annotation.__origin__), *notes)]


@pytest.mark.parametrize("name", declared())
def test_the_published_schema_is_pydantics_without_what_says_nothing(name: str) -> None:
    published = declared()[name].parameters
    fields: dict[str, Any] = {}
    for argument in declared()[name].arguments.values():
        fields[argument.name] = (_pydantic(argument.annotation), ... if argument.required else argument.default)
    theirs = create_model(name, **fields).model_json_schema()

    assert published.get("required", []) == theirs.get("required", [])
    for argument_name, schema in published["properties"].items():
        if argument_name != "response_format":
            assert schema == _without_noise(theirs["properties"][argument_name])


def _without_noise(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key not in ("title", "anyOf")}
    for option in schema.get("anyOf", ()):
        kept = option | kept if option.get("type") != "null" else kept
    return {key: value for key, value in kept.items() if key != "default" or value not in (None, "", False)}


@pytest.mark.parametrize("name", ["commit:1a2b3c4", "docs/adr/7.md:12:3", "docs/*.md", "README.md", "doc:1a2b3c"])
def test_a_handle_is_a_number_or_the_name_of_a_document(name: str) -> None:
    argument = Argument("id", Handle)

    assert argument.read(name) == name
    assert [argument.read(one) for one in (12, "12", " 12 ", "12.0")] == [12, 12, 12, 12]
    with pytest.raises(InvalidArgumentError):
        argument.read("twelve")
