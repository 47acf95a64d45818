"""The words of a memory that acts: what made a command pass that fails again, and what a decision guards."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from engram_py.base.capture.fences import harmless
from engram_py.guidance.failures.fixes import Advice, Explained, FixLine, Remedy
from engram_py.guidance.guards.values import Checked, Found, Guard, GuardLine, GuardSet, Objection, Offered, Silenced
from engram_py.interfaces.wording.phrases import Words, amount, filled, joined, plain_line

# --- the fix of a failure -------------------------------------------------------------------------------------

ADVICE_BYTES = 480  # 120 tokens of four bytes
_LINE, _TEXT, _WHY, _NAME = 100, 200, 90, 60
_MOST_NAMED, _MOST_RUN = 3, 2
_STATES = {
    "fresh": "unchanged",
    "changed": "changed since",
    "gone": "gone now",
    "moved": "moved since",
    "unknown": "not comparable here",
}
_SILENT = {
    "not_telling": "No line identifies this error: a failed assertion or a common message is not enough.",
    "shared": "These lines occur in many different errors.",
    "not_known": "No memory is about this error.",
    "files_gone": "This error was fixed before, but the files of that fix are gone.",
    "several": "This error had more than two causes, so no fix is suggested.",
}


def advice_text(advice: Advice) -> str:
    """Return what an agent reads when an error returns: at most 120 tokens."""
    again = "This error was fixed before" if len(advice.remedies) == 1 else "This error had two fixes, newest first"
    head = f"Memory: {again} ({plain_line(advice.line, _LINE)})."
    left = ADVICE_BYTES - len(head.encode())
    lines = []
    for number, one in enumerate(advice.remedies):
        lines.append(_cut(_remedy(one), left // (len(advice.remedies) - number)))
        left -= len(lines[-1].encode()) + 1
    return harmless("\n".join((head, *lines)))


def _cut(text: str, most: int) -> str:
    raw = text.encode()
    return text if len(raw) < most else raw[: most - 5].decode(errors="ignore") + "…"


def _remedy(one: Remedy) -> str:
    when = _when(one)
    if one.text:
        said = f"{plain_line(one.title, _WHY)} – {plain_line(one.text, _TEXT)}"
        return filled((f"[#{one.id}] {when}: {said}", _files_now(one)), " ")
    said = filled((f"{did}." if (did := what_was_done(one)) else "", _files_now(one), _why(one)), " ")
    return f"[#{one.id}] {when}: {said}"


def _when(one: Remedy) -> str:
    times = f"{one.times} times" if one.times > 1 else ""
    return filled((one.day, times, f"commit {one.commit}" if one.commit else ""))


def _why(one: Remedy) -> str:
    return f"Why: {plain_line(one.why, _WHY)}" if one.why else ""


def what_was_done(one: Remedy) -> str:
    """``edited a.py and b.py; ran `pip install x```."""
    edited = joined(_some(one.files, _MOST_NAMED))
    ran = joined([f"`{name}`" for name in _some(one.commands, _MOST_RUN)])
    form = f"`{plain_line(one.form, _NAME)}`" if one.form else ""
    done = (
        f"{verb} {what}" if what else "" for verb, what in (("edited", edited), ("ran", ran), ("it passed with", form))
    )
    return filled(done, "; ")


def _some(names: tuple[str, ...], most: int) -> list[str]:
    shown = [plain_line(name, _NAME) for name in names[:most]]
    return shown if len(names) <= most else [*shown[:-1], f"{len(names) - most + 1} more"]


def _files_now(one: Remedy) -> str:
    """Return what became of its files: ``Now: a.py as then, b.py changed since``."""
    by_state: dict[str, list[str]] = defaultdict(list)
    for state in one.states:
        word = "on another branch" if state.elsewhere else _STATES[state.state]
        by_state[word].append(plain_line(state.path, _NAME))
    told = [f"{joined(_some(tuple(dict.fromkeys(names)), _MOST_NAMED))} {word}" for word, names in by_state.items()]
    return f"Now: {'; '.join(told)}." if told else ""


def _explained(value: Explained, now: datetime) -> str:
    lines = ["The error:", *(f"  {line}" for line in value.lines)] if value.lines else []
    if value.advice is not None:
        return "\n".join([*lines, "An agent gets this once per session:", advice_text(value.advice)])
    known = [f"Memories about it: {joined([f'[#{one}]' for one in value.ids])}."] if value.ids else []
    return "\n".join([*lines, f"An agent gets no hint. {_SILENT[value.verdict]}", *known])


def _fix(value: FixLine, now: datetime) -> str:
    lines = [f"[#{value.id}] {value.title} ({value.project})"]
    for one in value.remedies:
        when = _when(one)
        lines.append(f"  {filled((when, what_was_done(one)), ': ')}")
    return "\n".join(lines)


# --- what a decision guards -----------------------------------------------------------------------------------

_TITLE_CHARS, _SUBJECT_CHARS, _WITHIN_CHARS = 80, 100, 40
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def objection(value: Objection) -> str:
    """Return what the agent reads before its tool runs: the rule in its positive form, and how it is lifted."""
    lines = []
    for one in value.broken:
        rule = f"{_instead(one.guard) or f'no {rule_words(one.guard)}'} ({one.type} #{one.id})"
        whose = f", said by {plain_line(one.guard.by, 40)}" if one.guard.by else ""
        about = f'`{plain_line(one.subject, _SUBJECT_CHARS)}` violates "{plain_line(one.title, _TITLE_CHARS)}"{whose}'
        lifted = f"`engram guard off {one.id} --session {value.session_id}`"
        what = "Blocked. A person can allow it" if one.guard.strict else "If the rule does not apply here, turn it off"
        lines.append(f"{rule[:1].upper()}{rule[1:]}: {about}. {what} for this session: {lifted}.")
    for strange in value.unchecked:
        lines.append(
            f"#{strange} came from elsewhere. Its guard against this action is off until a person runs "
            f"`engram trust {strange}`; `engram guard list` shows the guard."
        )
    return "\n".join(lines)


def rule_words(guard: Guard) -> str:
    """Return what a guard forbids, in words."""
    where = f" in {plain_line(', '.join(guard.within), _WITHIN_CHARS)}" if guard.within else ""
    on = f" on {guard.branch}" if guard.branch else ""
    match guard.kind:
        case "path":
            return f"{'write to' if guard.deny == 'write' else 'edit of'} {', '.join(guard.paths)}{on}"
        case "command":
            return f"`{guard.command}`{on}"
        case "branch":
            return f"edit or commit on {guard.branch}"
    text = f"/{guard.added or guard.removed}/" if guard.regex else f"`{guard.added or guard.removed}`"
    return f"line {guard.kind} with {text}{where}{on}"


def _instead(guard: Guard) -> str:
    return f"use {guard.use}" if guard.use else ""


def _line(value: GuardLine, now: datetime) -> str:
    outcomes = {name: getattr(value, name) for name in ("heeded", "ignored")}
    told = filled(f"{count} {name}" for name, count in outcomes.items() if count)
    spoke = amount(value.fired, "warning") + (f": {told}" if told else "") if value.fired else "no warnings yet"
    facts = (
        "denies" if value.rule.strict else "warns",
        f"by {plain_line(value.rule.by, 40)}" if value.rule.by else "",
        spoke,
        f"turned off in {amount(value.overruled, 'session')}" if value.overruled else "",
        f"from {value.unchecked}: does nothing until `engram trust {value.id}`" if value.unchecked is not None else "",
    )
    line = f"{_named(value.id, value.title)}\n  {value.number}. {rule_and_use(value.rule)} ({filled(facts)})"
    return line + (
        f"\n  It was turned off in {amount(value.overruled, 'session')}. Keep it: `engram review {value.id}`. "
        f"Remove it: `engram guard remove {value.id}`."
        if value.to_review
        else ""
    )


def _named(number: int, title: str) -> str:
    return f"[#{number}] {plain_line(title, _TITLE_CHARS)}"


def rule_and_use(guard: Guard) -> str:
    """``no `npm *`; use pnpm``."""
    return filled((f"no {rule_words(guard)}", _instead(guard)), "; ")


def _set(value: GuardSet, now: datetime) -> str:
    whom = f'[#{value.id}] "{plain_line(value.title, _TITLE_CHARS)}"'
    match value.outcome:
        case "removed":
            one = f"the guard of {whom}: {rule_and_use(value.rule)}" if value.rule else f"every guard of {whom}"
            return f"Removed {one}"
        case "declined":
            return f"Declined: {whom} has no guard, and none is suggested again"
    assert value.rule is not None
    does = "denies" if value.rule.strict else "warns"
    past = f" It would have warned in {value.hits} of the last {amount(value.commits, 'commit')}." * bool(value.commits)
    return (
        f"{whom} ({does}): {rule_and_use(value.rule)}.{past} `engram guard off {value.id}` turns it off for a session."
    )


def _silenced(value: Silenced, now: datetime) -> str:
    whom = f'[#{value.id}] "{plain_line(value.title, _TITLE_CHARS)}"'
    if not value.sessions:
        return f"The guard of {whom} is on in every session again"
    where = f"session {value.sessions[0]}" if len(value.sessions) == 1 else amount(len(value.sessions), "open session")
    often = (
        f"; it was turned off in {amount(value.overruled, 'session')} and is due for review" if value.to_review else ""
    )
    return f"The guard of {whom} is off in {where}{often}"


def _offered(value: Offered, now: datetime) -> str:
    return f"{_named(value.id, value.title)}\n  `engram guard accept {value.id}`: {rule_and_use(value.rule)}"


def _found(value: Found, now: datetime) -> str:
    return f"{_place(value)}: {message(value)}"


def _place(value: Found) -> str:
    return filled((value.file or "this branch", str(value.line) if value.line else ""), ":")


def message(value: Found) -> str:
    """Return what is said at a place of a diff: the decision, who said it, what to use."""
    title, author = plain_line(value.title, _TITLE_CHARS), plain_line(value.author, 40)
    whose = filled((f"{value.type} #{value.id}", author))
    return f'"{title}" ({whose}): {_instead(value.rule) or f"no {rule_words(value.rule)}"}'


def _checked(value: Checked, now: datetime) -> str:
    seen = f"{amount(value.guards, 'guard')}, {amount(value.files, 'file')} checked"
    if not value.found:
        return f"No guard is violated ({seen})."
    return "\n".join([*(_found(one, now) for one in value.found), f"{amount(len(value.found), 'place')} ({seen})"])


def github(value: Checked) -> str:
    """Return the places as GitHub's annotations, a line each."""
    return "\n".join(
        f"::{'error' if one.strict else 'warning'} file={escaped(one.file, ':,')},line={max(1, one.line)},"
        f"title=engram #{one.id}::{escaped(message(one))}"
        for one in value.found
    )


def escaped(text: str, more: str = "") -> str:
    for char in f"%\r\n{more}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def sarif(value: Checked, version: str) -> dict[str, Any]:
    """Return the places as a SARIF 2.1.0 log, a rule for each decision."""
    rules = {
        f"engram-{one.id}": {"id": f"engram-{one.id}", "shortDescription": {"text": one.title}} for one in value.found
    }
    driver = {"name": "engram", "version": version, "rules": list(rules.values())}
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [*map(_result, value.found)]}],
    }


def _result(one: Found) -> dict[str, Any]:
    found = {
        "ruleId": f"engram-{one.id}",
        "level": "error" if one.strict else "warning",
        "message": {"text": message(one)},
    }
    if not one.file:
        return found
    place = {"artifactLocation": {"uri": one.file}, "region": {"startLine": max(1, one.line)}}
    return found | {"locations": [{"physicalLocation": place}]}


WORDS: Words = {
    Explained: _explained,
    FixLine: _fix,
    GuardLine: _line,
    GuardSet: _set,
    Silenced: _silenced,
    Offered: _offered,
    Found: _found,
    Checked: _checked,
}
