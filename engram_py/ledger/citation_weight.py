"""What citations say of an observation's worth: one that agents cite rises, one they are given in vain sinks."""

from __future__ import annotations

# Each is small beside a word more or less, as the other factors of rank.py are.
RISE = 0.06
SINK = 0.06
_CITED_OFTEN = 2.0
# An agent uses much without citing it, so silence says something only after this many sessions.
_PATIENCE = 4
_IN_VAIN_OFTEN = 6.0


def citation_factor(injected: int, cited: int) -> float:
    """What the relevance of an observation is multiplied by, .94 to 1.06.

    1 + .06 c / (c + 2) after citations in c sessions. Never cited and injected into
    i > 4 sessions: 1 - .06 (i - 4) / (i - 4 + 6). One citation ends the sinking, whenever it came.
    """
    cited, injected = max(0, cited), max(0, injected)
    if cited:
        return 1 + RISE * cited / (cited + _CITED_OFTEN)
    vain = max(0, injected - _PATIENCE)
    return 1 - SINK * vain / (vain + _IN_VAIN_OFTEN)
