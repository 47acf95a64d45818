"""Makes dataclasses quicker to define, in the process of a hook alone: defining them is a third of what it does.

Each generated method is source text that is compiled. A hook defines sixty classes, uses ten values, and ends: so
values get their constructor, and share one ``__eq__`` and ``__hash__``. Nobody prints them, and that they are frozen
is what the type checker and every other process see to.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

_whole = dataclasses.dataclass


def install() -> None:
    """From now on ``@dataclass`` defines lean classes. Before anything of the memory is imported."""
    dataclasses.dataclass = _lean


def _lean(cls: type | None = None, /, **options: Any) -> Any:
    if options.get("order") or not options.get("eq", True):
        return _whole(cls, **options)
    frozen = options.pop("frozen", False)

    def define(cls: type) -> Any:
        made: Any = _whole(cls, repr=False, eq=False, **options)
        names = tuple(field.name for field in dataclasses.fields(made) if field.compare)
        if "__eq__" not in cls.__dict__:
            made.__eq__ = _equal(names)
            made.__hash__ = _hash(names) if frozen else None
        return made

    return define if cls is None else define(cls)


def _equal(names: tuple[str, ...]) -> Callable[[object, object], object]:
    def equal(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in names)

    return equal


def _hash(names: tuple[str, ...]) -> Callable[[object], int]:
    return lambda self: hash(tuple(getattr(self, name) for name in names))
