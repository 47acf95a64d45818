"""The table of operations fits the services, and every interface that offers one gives the same value."""

from __future__ import annotations

import inspect

import pytest

from engram_py import Engram
from engram_py.interfaces import operations
from engram_py.interfaces.operations import OBSERVATION, Operation

ROWS = {name: row for name, row in vars(operations).items() if isinstance(row, Operation)}
_KINDS = {list: "list", OBSERVATION: "int"}


@pytest.mark.parametrize("name", sorted(ROWS.keys() - {"SAVE", "UPDATE"}))  # their values are `Draft` and `Change`
def test_each_parameter_is_an_argument_of_the_service_of_the_same_kind(app: Engram, name: str) -> None:
    row = ROWS[name]
    method = row.method(app)
    arguments = inspect.signature(method).parameters
    takes_more = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in arguments.values())
    for one in row.parameters:
        own = one.named or one.name
        assert own in arguments or takes_more, f"{method.__qualname__} has no {own}"
        if own in arguments and one.kind is not list:
            kind = _KINDS.get(one.kind, getattr(one.kind, "__name__", ""))
            assert kind in str(arguments[own].annotation), f"{own} of {method.__qualname__} is no {kind}"
    needed = {
        name
        for name, one in arguments.items()
        if one.default is inspect.Parameter.empty and one.kind is not inspect.Parameter.VAR_KEYWORD
    }
    assert needed == {one.named or one.name for one in row.parameters if one.needed}
