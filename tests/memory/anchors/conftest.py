"""The repository of these tests, and a memory about some of its lines."""

from tests.memory.anchors.repositories import repo, saved

__all__ = ["repo", "saved"]
