"""The memory of these tests: under a clock that they move, in folders and repositories that they make."""

from tests.recall.searching import others
from tests.support import app, clock, git, here, make_repo, open_memory, root

__all__ = ["app", "clock", "git", "here", "make_repo", "open_memory", "others", "root"]
