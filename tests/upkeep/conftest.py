"""A store, and a disk that is almost full."""

from tests.database.conftest import public_folder, small_disk, store

__all__ = ["public_folder", "small_disk", "store"]
