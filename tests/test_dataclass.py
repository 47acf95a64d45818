"""Our dataclasses are values like the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from engram_py.dataclass import asdict, dataclass, field, fields, is_dataclass, replace


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: tuple[str, ...] = field(default=(), compare=False)
    seen: list[int] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = ""


@dataclass(slots=True)
class Open:
    x: int = 0


@dataclass
class Own:  # noqa: PLW1641 - the decorator says what hashes
    x: int

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "own"


@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    x: int


def test_values_compare_and_hash_by_their_fields() -> None:
    point = Point(1, tags=("a",))

    assert point == Point(1) != Point(2)
    assert Point(1) != Named(1)
    assert hash(Ordered(1)) == hash(Ordered(1))
    assert Ordered(1) < Ordered(2)
    assert max(Ordered(3), Ordered(2)) == Ordered(3)
    assert Own(1) == Own(2)
    with pytest.raises(TypeError):
        hash(Open())


def test_a_default_factory_makes_a_value_for_each() -> None:
    assert Point(1).seen is not Point(1).seen
    assert Point(1, seen=[3]).seen == [3]


def test_a_wrong_call_is_refused_as_always() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=3)  # type: ignore[call-arg]


def test_a_value_has_its_fields_and_no_others() -> None:
    assert not hasattr(Point(1), "__dict__")
    with pytest.raises(AttributeError):
        Open().other = 1  # type: ignore[attr-defined]
    match Named(1, name="a"):
        case Point(1, 2, (), []):
            pass
        case _:
            pytest.fail("fields match in their order")


def test_values_are_shown_copied_and_pickled() -> None:
    named = Named(1, tags=("a",), name="b")

    assert repr(named) == "Named(x=1, y=2, tags=('a',), name='b')"
    assert repr(Own(1)) == "own"
    assert copy.copy(named) == copy.deepcopy(named) == pickle.loads(pickle.dumps(named)) == named


@pytest.mark.parametrize("module", [None, dataclasses])
def test_both_modules_take_a_value_apart(module: object) -> None:
    apart = module or __import__("engram_py.dataclass", fromlist=["fields"])
    named = Named(1, seen=[4], name="b")

    assert [one.name for one in apart.fields(Named)] == ["x", "y", "tags", "seen", "name"]  # type: ignore[attr-defined]
    assert apart.asdict(named) == {"x": 1, "y": 2, "tags": (), "seen": [4], "name": "b"}  # type: ignore[attr-defined]
    assert apart.replace(named, x=5) == Named(5, seen=[4], name="b")  # type: ignore[attr-defined]
    assert apart.is_dataclass(named)  # type: ignore[attr-defined]
    assert not apart.is_dataclass(3)  # type: ignore[attr-defined]


def test_it_is_one_decorator_with_the_functions_that_go_with_it() -> None:
    assert asdict(replace(Open(), x=2)) == {"x": 2}
    assert [one.name for one in fields(Open)] == ["x"]
    assert is_dataclass(Open)
