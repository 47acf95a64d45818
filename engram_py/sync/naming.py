"""Which rows are called what people call them."""

from __future__ import annotations

# Kinds whose keys people choose: one that was deleted can be made again under its name.
NATURAL = frozenset({"session", "project", "alias"})
