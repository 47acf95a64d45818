"""The standard library's dataclasses, for a program that is started hundreds of times a day.

A hook defines ninety value classes and fills fifteen. The standard decorator compiles methods for each when it is
defined, and importing it brings ``inspect``; together that is a sixth of a hook (beside ``python -c "import sqlite3,
json"``, in one run: a silent prompt 4.4 times with it, 3.5 without; msgspec takes longer to import than both).
Here a constructor is compiled when the first value is made. That values are frozen is what the type checker sees to,
which knows these as the standard ones; the functions of ``dataclasses`` work on them as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace

    __all__ = ["asdict", "dataclass", "field", "fields", "is_dataclass", "replace"]
else:
    _MISSING = object()

    class _Field:
        __slots__ = ("compare", "default", "factory", "name", "repr")

        def __init__(self, default: Any, factory: Any = _MISSING, compare: bool = True, repr: bool = True) -> None:
            self.default, self.factory, self.compare, self.repr = default, factory, compare, repr

    def field(
        *, default: Any = _MISSING, default_factory: Any = _MISSING, compare: bool = True, repr: bool = True
    ) -> Any:
        return _Field(default, default_factory, compare, repr)

    def dataclass(cls=None, /, *, frozen=False, slots=False, order=False):
        return _define(cls, frozen, slots, order) if cls else lambda cls: _define(cls, frozen, slots, order)

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

    def _define(cls, frozen, slots, order):
        annotations = vars(cls).get("__annotations__", {})
        names = [name for name, kind in annotations.items() if not kind.startswith("ClassVar")]
        own = {name: cls.__dict__.get(name, _MISSING) for name in names}
        own = {name: one if type(one) is _Field else _Field(one) for name, one in own.items()}
        for name, one in own.items():
            one.name = name
        inherited = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= base.__dict__.get("_fields", {})
        members = {name: one for name, one in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
        found = inherited | own
        made = members | {"_fields": found, "__match_args__": tuple(found), "__dataclass_fields__": _Standard()}
        if slots:
            made = {name: one for name, one in made.items() if name not in own} | {"__slots__": tuple(own)}
        made |= {name: one for name, one in _METHODS.items() if name not in members}
        if "__hash__" not in members:
            made["__hash__"] = _hash if frozen else None
        if order:
            made |= {"__lt__": _less, "__le__": lambda one, other: not _less(other, one)}
        new = type(cls)(cls.__name__, cls.__bases__, made)
        if "__init__" not in members:
            new.__init__ = _constructor(new)
        return new

    def _constructor(cls):
        """Compiles the real one when it is first called."""

        def __init__(self, *args, **kwargs):
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
            cls.__init__ = known["__init__"]
            cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__(self, *args, **kwargs)

        return __init__

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

    class _Standard:
        """The fields as ``dataclasses`` knows them, made when it asks."""

        def __get__(self, _, owner):
            import dataclasses

            twin = []
            for name, one in owner._fields.items():
                options = {"repr": one.repr, "compare": one.compare}
                options |= {"default": one.default} if one.default is not _MISSING else {}
                options |= {"default_factory": one.factory} if one.factory is not _MISSING else {}
                twin.append((name, _type_of(owner, name), dataclasses.field(**options)))
            found = dataclasses.make_dataclass(owner.__name__, twin).__dataclass_fields__
            owner.__dataclass_fields__ = found
            return found

    def _type_of(owner, name):
        return next(
            base.__annotations__[name] for base in owner.__mro__ if name in vars(base).get("__annotations__", ())
        )

    _METHODS = {"__repr__": _shown, "__eq__": _equal}
