"""Loggers and regular expressions that cost a short process nothing until they are used, and how the packages of an
extra are installed once they are needed.
"""

from __future__ import annotations

import re
from functools import cached_property
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


class _Regex:
    def __init__(self, expression: str, flags: int) -> None:
        self._given = expression, flags

    @cached_property
    def _made(self) -> re.Pattern[str]:
        return re.compile(*self._given)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._made, name)
        self.__dict__[name] = value  # the next time it is found at once
        return value


def regex(expression: str, flags: int = 0) -> re.Pattern[str]:
    """Return ``re.compile`` of an expression, done when it is first used: compiling was a fifth of a prompt hook."""
    lazy: Any = _Regex(expression, int(flags))
    return lazy  # type: ignore[no-any-return]
