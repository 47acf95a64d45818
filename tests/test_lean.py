"""The dataclasses of a process of ours are values like those of every other."""

from __future__ import annotations

import subprocess
import sys

_SAME = """
from engram_py.lean import install
install()
__name__ = "engram_py.tested"
from dataclasses import asdict, dataclass, field, fields, replace

@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: tuple[str, ...] = field(default=(), compare=False)

@dataclass(slots=True)
class Open:
    x: int = 0

@dataclass
class Own:
    x: int
    def __eq__(self, other):
        return True

@dataclass
class Shown:
    x: int
    def __repr__(self):
        return "own"

@dataclass(frozen=True, slots=True, order=True)
class Ordered:
    x: int

point = Point(1, tags=("a",))
assert point == Point(1) and point != Point(2) and point != (1, 2) and Point(1) != Open(1)
assert hash(point) == hash(Point(1)) and {point: 1}[Point(1)] == 1
assert replace(point, x=5).x == 5 and asdict(point) == {"x": 1, "y": 2, "tags": ("a",)}
assert [one.name for one in fields(Point)] == ["x", "y", "tags"] and not hasattr(point, "__dict__")
match point:
    case Point(1, 2): pass
    case _: raise AssertionError
try:
    hash(Open())
except TypeError:
    pass
else:
    raise AssertionError
assert Open(1) == Open(1) and Own(1) == Own(2) and Ordered(1) < Ordered(2)

__name__ = "others"

@dataclass(frozen=True)
class Theirs:
    x: int

assert "__setattr__" in Theirs.__dict__ and "__setattr__" not in Point.__dict__
assert repr(Theirs(1)) == "Theirs(x=1)" and repr(point) == "Point(x=1, y=2, tags=('a',))" and repr(Shown(1)) == "own"

import engram_py.app, engram_py.context.contexts, engram_py.clock
from engram_py.observations.values import Draft
assert Draft("a", "b") == Draft("a", "b") != Draft("a", "c")
"""


def test_lean_classes_compare_hash_match_and_copy_as_others_do() -> None:
    done = subprocess.run([sys.executable, "-c", _SAME], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_nobody_else_gets_them() -> None:
    import dataclasses

    from engram_py.interfaces.hooks import entry

    assert dataclasses.dataclass.__module__ == "dataclasses"
    assert repr(entry.Arguments()).startswith("Arguments(event=")
