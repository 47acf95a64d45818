"""Memory for coding agents. ``from engram_py import Engram`` opens the same services the server uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.base.errors import EngramError
    from engram_py.memory.observations.values import Draft

__version__ = "0.2.0"

__all__ = ["Draft", "Engram", "EngramError", "__version__"]

_HOMES = {
    "Engram": "engram_py.app",
    "EngramError": "engram_py.base.errors",
    "Draft": "engram_py.memory.observations.values",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: `engram version` and the hooks pay for no more than they touch.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
