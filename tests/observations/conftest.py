"""The memory of these tests: under a clock that they move, in folders and repositories that they make."""

from tests.memory import alarms, app, clock, git, here, make_repo, open_memory, root
from tests.relations.pairs import saved

__all__ = ["alarms", "app", "clock", "git", "here", "make_repo", "open_memory", "root", "saved"]
