"""The memory of these tests, and three observations to ask for."""

from tests.evaluation.evaluating import answers
from tests.memory import app, clock, git, here, make_repo, open_memory, root

__all__ = ["answers", "app", "clock", "git", "here", "make_repo", "open_memory", "root"]
