"""One observation alone."""

from tests.memory.relations.pairs import saved

__all__ = ["saved"]
