"""The standard library's dataclasses, for a program that is started hundreds of times a day.

A hook defines a hundred value classes and fills forty, most of them with few values. The standard decorator compiles
methods for each when it is defined, and importing it brings ``inspect``; together that is a sixth of a hook (beside
``python -c "import sqlite3, json"``, in one run: a silent prompt 4.4 times with it, 3.5 without; msgspec takes longer
to import than both). A NamedTuple takes fifteen times as long to define as a class of this decorator.
Here a class is changed in place, since the second one that slots need costs as much as the first, and a constructor is
compiled when there are many values. That values are frozen and have no other attributes is what the type checker sees
to, which knows these as the standard ones; the functions of ``dataclasses`` work on them as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace

    __all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]
else:
    _MISSING = object()
    _FEW = 50  # compiling a constructor takes as long as filling so many values without

    class _Field:
        __slots__ = ("compare", "default", "factory", "name", "repr")

        def __init__(self, default: Any, factory: Any = _MISSING, compare: bool = True, repr: bool = True) -> None:
            self.default, self.factory, self.compare, self.repr = default, factory, compare, repr

    def field(
        *, default: Any = _MISSING, default_factory: Any = _MISSING, compare: bool = True, repr: bool = True
    ) -> Any:
        return _Field(default, default_factory, compare, repr)

    def dataclass(cls=None, /, *, frozen=False, slots=False, order=False):
        return _define(cls, frozen, order) if cls else lambda cls: _define(cls, frozen, order)

    def replace(value, /, **changes):
        for name in type(value)._fields:
            if name not in changes:
                changes[name] = getattr(value, name)
        return type(value)(**changes)

    def fields(value, /):
        return tuple(value._fields.values())

    def is_dataclass(value, /):
        return hasattr(value, "_fields") and hasattr(value, "__dataclass_fields__")

    def asdict(value, /):
        return {name: _plain(getattr(value, name)) for name in value._fields}

    def _plain(value):
        if is_dataclass(value):
            return asdict(value)
        if isinstance(value, list | tuple):
            return type(value)(map(_plain, value))
        if isinstance(value, dict):
            return {name: _plain(one) for name, one in value.items()}
        return value

    def _define(cls, frozen, order):
        for name, make in (("_fields", _fields_of), ("__match_args__", _names_of), ("__dataclass_fields__", _twin_of)):
            setattr(cls, name, _Late(cls, name, make))
        members = cls.__dict__
        for name, method in _METHODS.items():
            if name not in members:
                setattr(cls, name, method)
        if "__hash__" not in members:
            cls.__hash__ = _hash if frozen else None
        if order:
            cls.__lt__, cls.__le__ = _less, lambda one, other: not _less(other, one)
        if "__init__" not in members:
            cls.__init__ = _constructor(cls)
        return cls

    class _Late:
        """An attribute of a class that is made when it is first asked for: a hook fills half of its classes."""

        def __init__(self, cls, name, make):
            self.cls, self.name, self.make = cls, name, make

        def __get__(self, value, owner):
            made = self.make(self.cls)
            setattr(self.cls, self.name, made)
            return made

    def _fields_of(cls):
        """Return the fields of a class after those of its bases, by name."""
        found = {}
        for base in reversed(cls.__mro__[1:]):
            if "_fields" in base.__dict__:
                found |= base._fields
        for name, kind in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063 - importing inspect is what this spares
            if not kind.startswith("ClassVar"):
                one = cls.__dict__.get(name, _MISSING)
                found[name] = one if type(one) is _Field else _Field(one)
                found[name].name = name
        return found

    def _names_of(cls):
        return tuple(cls._fields)

    def _constructor(cls):
        """Return an ``__init__`` that compiles the real one once there are values enough to pay for it."""
        left = _FEW

        def __init__(self, *args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0 or not _filled(self, cls._fields, args, kwargs):
                cls.__init__ = _compiled(cls)
                cls.__init__(self, *args, **kwargs)

        return __init__

    def _filled(self, fields, args, kwargs):
        """Set the fields one by one. False where the arguments do not fit: the real constructor says why."""
        values = dict(zip(fields, args, strict=False))
        if len(args) > len(fields) or not kwargs.keys().isdisjoint(values):
            return False
        values |= kwargs
        for name, one in fields.items():
            value = values.pop(name, _MISSING)
            if value is _MISSING:
                value = one.default if one.factory is _MISSING else one.factory()
                if value is _MISSING:
                    return False
            setattr(self, name, value)
        return not values

    def _compiled(cls):
        known = {"_missing": _MISSING}
        parameters, lines = ["self"], []
        for name, one in cls._fields.items():
            if one.factory is not _MISSING:
                known[f"_new_{name}"] = one.factory
                parameters.append(f"{name}=_missing")
                lines.append(f" self.{name} = _new_{name}() if {name} is _missing else {name}")
                continue
            if one.default is not _MISSING:
                known[f"_of_{name}"] = one.default
            parameters.append(name if one.default is _MISSING else f"{name}=_of_{name}")
            lines.append(f" self.{name} = {name}")
        exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), known)  # noqa: S102 - of names in our source
        known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return known["__init__"]

    def _values(self):
        return tuple([getattr(self, name) for name, one in self._fields.items() if one.compare])

    def _equal(self, other):
        return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented

    def _hash(self):
        return hash(_values(self))

    def _less(self, other):
        return _values(self) < _values(other)

    def _shown(self):
        shown = (f"{name}={getattr(self, name)!r}" for name, one in self._fields.items() if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _twin_of(cls):
        """Return the fields as ``dataclasses`` knows them."""
        import dataclasses

        twin = []
        for name, one in cls._fields.items():
            options = {"repr": one.repr, "compare": one.compare}
            options |= {"default": one.default} if one.default is not _MISSING else {}
            options |= {"default_factory": one.factory} if one.factory is not _MISSING else {}
            twin.append((name, _type_of(cls, name), dataclasses.field(**options)))
        return dataclasses.make_dataclass(cls.__name__, twin).__dataclass_fields__

    def _type_of(owner, name):
        return next(
            base.__annotations__[name] for base in owner.__mro__ if name in vars(base).get("__annotations__", ())
        )

    _METHODS = {"__repr__": _shown, "__eq__": _equal}
