"""A call that runs on the event loop leaves it before it waits for another program, and begins again on a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_state = threading.local()


class LeftLoopError(BaseException):
    """The call would have waited here. No ``except Exception`` on its way keeps it."""


@contextmanager
def on_the_loop() -> Iterator[None]:
    """Around a call that only reads, and can begin again."""
    _state.on_the_loop = True
    try:
        yield
    finally:
        _state.on_the_loop = False


def before_waiting() -> None:
    """To be called before a step that takes as long as another program likes. Raises LeftLoopError on the loop."""
    if getattr(_state, "on_the_loop", False):
        raise LeftLoopError
