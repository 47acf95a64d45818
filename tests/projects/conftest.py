"""A memory under a clock that tests move, and repositories whatever this machine's git is configured to do."""

from tests.git.conftest import Git, git, git_environment, make_repo
from tests.memory import app, clock, here, open_memory, root

__all__ = ["Git", "app", "clock", "git", "git_environment", "here", "make_repo", "open_memory", "root"]
