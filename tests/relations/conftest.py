"""One observation alone."""

from tests.relations.pairs import saved

__all__ = ["saved"]
