"""The words of a memory that acts: what made a command pass that fails again."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from engram_py.failures.failures import Advice, Explained, FixLine, Remedy
from engram_py.interfaces.wording.phrases import Words, filled, joined, plain_line
from engram_py.text.fences import harmless

# --- the fix of a failure -------------------------------------------------------------------------------------

ADVICE_BYTES = 480  # 120 tokens of four bytes
_LINE, _TEXT, _WHY, _NAME = 100, 200, 90, 60
_MOST_NAMED, _MOST_RUN = 3, 2
_STATES = {
    "fresh": "as then",
    "changed": "changed since",
    "gone": "gone now",
    "moved": "moved since",
    "unknown": "not comparable here",
}
_SILENT = {
    "not_telling": "No line of it tells which error it is: a failed assertion and what many errors print say nothing.",
    "shared": "Its lines stand in many errors that are not the same.",
    "not_known": "No memory speaks of this error.",
    "files_gone": "It was mended before, but the files of that are gone.",
    "several": "It had so many causes before that none is told.",
}


def advice_text(advice: Advice) -> str:
    """Return what an agent reads when an error returns: at most 120 tokens."""
    again = "This error was fixed before" if len(advice.remedies) == 1 else "This error had two fixes, the later first"
    head = f"Memory: {again} (`{plain_line(advice.line, _LINE)}`)."
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
    done = (f"{verb} {what}" if what else "" for verb, what in (("edited", edited), ("ran", ran), ("passed as", form)))
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
        return "\n".join([*lines, "An agent is told, once a session:", advice_text(value.advice)])
    known = [f"Memories that speak of it: {joined([f'[#{one}]' for one in value.ids])}."] if value.ids else []
    return "\n".join([*lines, f"Nothing is said of it. {_SILENT[value.verdict]}", *known])


def _fix(value: FixLine, now: datetime) -> str:
    lines = [f"[#{value.id}] {value.title} ({value.project})"]
    for one in value.remedies:
        when = _when(one)
        lines.append(f"  {filled((when, what_was_done(one)), ': ')}")
    return "\n".join(lines)


WORDS: Words = {Explained: _explained, FixLine: _fix}
