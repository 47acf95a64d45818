"""The words of what is recorded, shown and cleared."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, amount, joined, whence
from engram_py.privacy.trust import Arrival, Arrivals, TrustChanged
from engram_py.privacy.values import Allowed, Choice, Cleared, SwitchState
from engram_py.recall.values import counted

_NAMES = {"enabled": "engram", "record": "recording", "inject": "injecting"}


def _state(value: SwitchState, now: datetime) -> str:
    lines = [f"{f'In {value.project}' if value.project else 'Here'}: {_allowed(value.allowed)}."]
    lines += [
        f"ENGRAM_{switch.upper()} is {_on(on)}, which overrides the rest" for switch, on in value.environment.items()
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


def clearing(value: Cleared) -> list[str]:
    """Return what is about to be destroyed, and what of it stays somewhere."""
    lines = [f"This destroys {_what(value)}."]
    if value.copies:
        lines.append(f"{amount(value.copies, 'backup')} in {value.backups} may still hold it.")
    if value.what != "turns":
        lines.append(
            "Machines and servers that sync with this one destroy theirs too when they hear of it."
            if value.everywhere
            else "Machines and servers that sync with this one keep theirs; --everywhere destroys those too."
        )
        lines.append("Exports and chunks that were committed keep the words in any case.")
    return [*lines, "Only a backup brings it back: `engram backup` makes one."]


def _what(value: Cleared) -> str:
    parts = [amount(count, _ROWS.get(name, name.removesuffix("s"))) for name, count in value.counts.items() if count]
    rows = joined(parts) or "nothing"
    if value.session_id:
        return f"{rows} of session {value.session_id}"
    return f"{rows} of project {value.project}" if value.project else f"{rows} of all projects"


_ROWS = {"versions": "earlier text", "turns": "raw message"}


def _arrivals(value: Arrivals, now: datetime) -> str:
    if not value.items:
        return "Every memory here is your own: nothing came from elsewhere."
    return "\n".join(_arrival(one) for one in value.items)


def _arrival(one: Arrival) -> str:
    [door] = whence(f"{one.source}\n{one.name}")
    state = "trusted" if one.trusted else "not checked"
    key = f" ({one.author})" if one.author and one.author != one.name else ""
    where = joined(one.projects) or "no project"
    return f"{door.removesuffix(', not checked')}{key}: {counted(one.rows)} in {where}, {state}"


def _trust(value: TrustChanged, now: datetime) -> str:
    rows = counted(value.rows)
    if value.trusted:
        return f"Trusted: {rows} count as your own, and so does what comes from there later."
    return f"No longer trusted: {rows} stay apart as not checked, and so does what comes from there later."


WORDS: Words = {
    Arrivals: _arrivals,
    TrustChanged: _trust,
    SwitchState: _state,
    Cleared: lambda value, now: (
        f"Destroyed {_what(value)}." if any(value.counts.values()) else "There is nothing to destroy."
    ),
}
