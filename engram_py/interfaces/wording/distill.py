"""The words of what became of sessions that were to be summarized."""

from __future__ import annotations

from datetime import datetime

from engram_py.distill.values import Distilled, Flushed
from engram_py.interfaces.wording.phrases import Words, amount


def _flushed(value: Flushed, now: datetime) -> str:
    if value.busy:
        return "Another process distills just now; ask again in a minute"
    return "\n".join(map(_distilled, value.sessions)) or "No session has turns that wait"


def _distilled(one: Distilled) -> str:
    made = f" [#{one.id}]" if one.id is not None else ""
    return f"{one.session_id} ({one.project}): {one.result}{made}, {amount(one.turns, 'turn')}"


WORDS: Words = {Flushed: _flushed}
