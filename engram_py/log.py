"""A logger that brings ``logging`` with it when it first has something to say: importing that is a 25th of a hook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from logging import Logger


class _Lazy:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        import logging

        return getattr(logging.getLogger(self._name), name)


def logger_of(name: str) -> Logger:
    """Return the logger of a module, by its ``__name__``."""
    logger: Any = _Lazy(name)
    return logger  # type: ignore[no-any-return]
