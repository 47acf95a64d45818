"""The words of what became of sessions that were to be summarized."""

from __future__ import annotations

from datetime import datetime

from engram_py.distill.values import Flushed
from engram_py.interfaces.wording.phrases import Words, amount


def _flushed(value: Flushed, now: datetime) -> str:
    if value.busy:
        return "Another process distills just now; ask again in a minute"
    lines = []
    for one in value.sessions:
        made = f" [#{one.id}]" if one.id is not None else ""
        lines.append(f"{one.session_id} ({one.project}): {one.result}{made}, {amount(one.turns, 'turn')}")
    return "\n".join(lines) or "No session has turns that wait"


WORDS: Words = {Flushed: _flushed}
