"""Three observations to ask for."""

from tests.evaluation.evaluating import answers

__all__ = ["answers"]
