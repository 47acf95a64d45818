"""A memory under a clock that tests move, a store, and a disk that is almost full."""

from tests.database.conftest import public_folder, small_disk, store
from tests.memory import app, clock, git, here, make_repo, open_memory, root

__all__ = ["app", "clock", "git", "here", "make_repo", "open_memory", "public_folder", "root", "small_disk", "store"]
