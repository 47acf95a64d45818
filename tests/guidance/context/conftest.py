"""What the memory of these tests holds."""

from tests.guidance.context.prompting import kept

__all__ = ["kept"]
