"""The memory of these tests: under a clock that they move."""

from tests.memory import app, clock, open_memory

__all__ = ["app", "clock", "open_memory"]
