"""A memory under a clock that these tests move."""

from tests.memory import app, clock, git, here, make_repo, open_memory, root

__all__ = ["app", "clock", "git", "here", "make_repo", "open_memory", "root"]
