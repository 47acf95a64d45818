"""A store, and a disk that is almost full."""

from tests.base.database.conftest import closable_folder, small_disk, store

__all__ = ["closable_folder", "small_disk", "store"]
