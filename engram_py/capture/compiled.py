"""Regular expressions compiled on first use: most texts need few of them, and a hook starts for one text."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """``expression`` compiled; flags are written inside it, ``(?ai)``."""
    return re.compile(expression)
