"""What the memory of these tests holds."""

from tests.context.prompting import kept

__all__ = ["kept"]
