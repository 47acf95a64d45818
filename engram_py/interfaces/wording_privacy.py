"""The words of what is recorded, shown and cleared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from engram_py.models.privacy import Allowed, Choice, SwitchState

_NAMES = {"enabled": "engram", "record": "recording", "inject": "injecting"}


def _state(value: SwitchState, now: datetime) -> str:
    lines = [f"{f'In {value.project}' if value.project else 'Here'}: {_allowed(value.allowed)}."]
    lines += [
        f"ENGRAM_{switch.upper()} says {_on(on)}, whatever else is said" for switch, on in value.environment.items()
    ]
    return "\n".join([*lines, *(_choice(choice) for choice in value.choices)])


def _allowed(value: Allowed) -> str:
    if not value.enabled:
        return "engram is off, so hooks do nothing"
    return f"engram is on, recording is {_on(value.record)}, injecting is {_on(value.inject)}"


def _choice(value: Choice) -> str:
    where = "everywhere" if value.scope == "all" else f"{value.scope} {value.name}"
    return f"{where}: {_NAMES[value.switch]} {_on(value.on)}"


def _on(value: bool) -> str:
    return "on" if value else "off"


WORDS: dict[type, Callable[[Any, datetime], str]] = {SwitchState: _state}
