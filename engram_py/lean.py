"""Makes our dataclasses quicker to define and to fill: that is a quarter of what a hook or a command does.

Each generated method is source text that is compiled, and a frozen value sets each field through ``object``. A process
of ``engram`` defines eighty classes or more: so values get their constructor, and share the other methods. That they
are frozen is what the type checker and the tests see to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

_PACKAGE = __name__.partition(".")[0]
_whole = dataclasses.dataclass


def install() -> None:
    """From now on ``@dataclass`` defines lean classes in this package. Before anything else of it is imported."""
    dataclasses.dataclass = _lean


def _lean(cls: type | None = None, /, **options: Any) -> Any:
    frozen = options.get("frozen", False)

    def define(cls: type) -> Any:
        others = cls.__module__.partition(".")[0] != _PACKAGE
        if others or options.get("order") or not options.get("eq", True):
            return _whole(cls, **options)
        made: Any = _whole(cls, **options | {"repr": False, "eq": False, "frozen": False})
        names = tuple(field.name for field in dataclasses.fields(made) if field.compare)
        if "__repr__" not in cls.__dict__:
            made.__repr__ = _shown
        if "__eq__" not in cls.__dict__:
            made.__eq__ = _equal(names)
            made.__hash__ = _hash(names) if frozen else None
        return made

    return define if cls is None else define(cls)


def _shown(self: Any) -> str:
    fields = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(fields)})"


def _equal(names: tuple[str, ...]) -> Callable[[object, object], object]:
    def equal(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in names)

    return equal


def _hash(names: tuple[str, ...]) -> Callable[[object], int]:
    return lambda self: hash(tuple(getattr(self, name) for name in names))
