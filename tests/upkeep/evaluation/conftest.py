"""Three observations to ask for."""

from tests.upkeep.evaluation.evaluating import answers

__all__ = ["answers"]
