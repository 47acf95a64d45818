"""The words of what the memory costs and of what it was worth."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from engram_py.guidance.ledger.costs import Cost, tokens_of
from engram_py.guidance.ledger.worth import Compared, MemoryWorth, Tally, Worth
from engram_py.interfaces.wording.phrases import Words, amount, clock
from engram_py.upkeep.values import (
    Hot,
    HotReport,
)


def _hot(value: HotReport, now: datetime) -> str:
    if not value.observations and not value.entities:
        return "Nothing was used yet: searches and contexts count what they show"
    lines = [f"{amount(value.total, 'use')} in total", *(_hot_line(one, now) for one in value.observations)]
    lines += ["Entities"] if value.entities else []
    return "\n".join([*lines, *(_hot_line(one, now) for one in value.entities)])


def _hot_line(one: Hot, now: datetime) -> str:
    last = f", last {clock(one.last_accessed_at, now, '%Y-%m-%d')}" if one.last_accessed_at else ""
    return f"[#{one.id}] {one.title} ({one.kind}): {amount(one.access_count, 'time')}{last}, {one.tier}"


_UNKNOWN = "unknown: no transcript was read; `engram setup` adds the hooks that read them"


def _cost(value: Cost, now: datetime) -> str:
    lines = [_head(value), "", *_doors(value), *_sessions(value), "", *_shares(value)]
    if value.models:
        tokens, dollars = f"{value.models.tokens:,}", f"${value.models.dollars:.2f}"
        lines += ["", _row("models that summarized sessions, 30 days", dollars, tokens)]
    if value.profiles:
        instructions = tokens_of(value.profiles[0].instruction_bytes)
        lines += ["", _row(f"per session (instructions: {instructions:,})", "tools", "tokens")]
        lines += [_row(f"profile {one.profile}", f"{one.tools:,}", f"{one.tokens:,}") for one in value.profiles]
    return "\n".join(lines)


def _head(value: Cost) -> str:
    what = f"session {value.session_id}" if value.session_id else "all sessions"
    what += f" of project {value.project}" if value.project else ""
    return f"Cost of {what}{f' since {value.since}' if value.since else ''}; a token is 4 bytes"


def _doors(value: Cost) -> Iterator[str]:
    if not value.doors:
        yield "Nothing is counted yet. Answers of hooks, MCP tools and HTTP routes are counted from now on."
        return
    yield _row("answered", "calls", "tokens")
    for one in value.doors:
        yield _row(f"{one.door} {one.name}", f"{one.calls:,}", f"{one.tokens:,}")
    calls, size = sum(one.calls for one in value.doors), sum(one.bytes for one in value.doors)
    yield _row("all", f"{calls:,}", f"{tokens_of(size):,}")


def _sessions(value: Cost) -> Iterator[str]:
    if value.session_id is not None or not value.sessions:
        return
    yield from ("", _row(f"sessions ({value.session_count:,}), most expensive first", "calls", "tokens"))
    for one in value.sessions:
        place = f" ({one.project})" if one.project else ""
        yield _row(f"{one.id or 'unknown session'}{place}", f"{one.calls:,}", f"{one.tokens:,}")


def _shares(value: Cost) -> Iterator[str]:
    yield _row("memories", "number", "tokens")
    shares = {"given by hooks": value.injected, "recalled by tools": value.recalled}
    for name, share in (shares | {"cited": value.cited, "never used": value.never_used}).items():
        yield _row(name, f"{share.observations:,}", f"{share.tokens:,}") if share else f"{name:40} {_UNKNOWN}"


def _row(name: str, *cells: str) -> str:
    return f"{name:40}" + "".join(f"{cell:>9}" for cell in cells)


_KIND = {"guard": "guards", "fix": "fixes", "memory": "memories"}
_COUNTS = ("moments", "heeded", "ignored", "repeated", "harmful", "unknown", "tokens")


def _worth(value: Worth, now: datetime) -> str:
    if not value.count:
        return "No memory was given to an agent yet. Counting starts now."
    of = f" of project {value.project}" if value.project else ""
    since = f" since {value.since}" if value.since else ""
    lines = [f"Results of memories that hooks gave to agents{of}{since}; a token is 4 bytes", "", _tallied("", None)]
    for one in value.kinds:
        lines += [_tallied(_KIND[one.kind], one.given)] if one.given.moments else []
        lines += [_tallied("  not given", one.without)] if one.without.moments else []
    lines += [_tallied("all given", value.all), ""]
    lines += [said for one in value.kinds if (said := compared(one))]
    lines += ["", *(_worth_line(one) for one in value.memories)]
    left = value.count - len(value.memories)
    return "\n".join([*lines, *([f"and {amount(left, 'memory')} more"] if left else [])])


def _tallied(name: str, tally: Tally | None) -> str:
    cells = [f"{getattr(tally, count):,}" if tally else count for count in _COUNTS]
    return f"{name:12}" + "".join(f"{cell:>9}" for cell in cells)


def compared(one: Compared) -> str:
    """Return in a sentence how often moments of a kind were heeded, and how that compares; nothing without moments."""
    if not one.given.moments:
        return ""
    name, known = _KIND[one.kind], one.given.moments - one.given.unknown
    if one.given.share is None:
        return f"{name}: {known} with a known outcome, too few for a percentage"
    said = f"{name}: {one.given.share:.0%} of {known} were heeded"
    if one.difference is None:
        return said
    diff = one.difference
    unsure = ", which may be chance" if diff.low <= 0 <= diff.high else ""
    return (
        f"{said}; without it: {one.without.share:.0%} of {one.without.moments - one.without.unknown} "
        f"({diff.value * 100:+.0f} points; 95%: {diff.low * 100:+.0f} to {diff.high * 100:+.0f}){unsure}"
    )


def _worth_line(one: MemoryWorth) -> str:
    given = one.given
    counts = [f"{getattr(given, name)} {name}" for name in _COUNTS[1:6] if getattr(given, name)]
    counts += [f"{given.share:.0%} heeded"] if given.share is not None else []
    counts += [f"{one.without.moments} not given"] if one.without.moments else []
    state = "; off until `engram review` confirms it" if one.retired else ""
    moments = f"{amount(given.moments, 'moment')}, {given.tokens:,} tokens"
    return f"[#{one.id}] {one.title} ({one.type}): {', '.join([moments, *counts])}{state}"


WORDS: Words = {
    HotReport: _hot,
    Cost: _cost,
    Worth: _worth,
}
