"""The words of what the memory costs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from engram_py.interfaces.wording.phrases import Words
from engram_py.ledger.values import Cost, tokens_of

_UNKNOWN = "unknown: no transcript was read; `engram setup` adds the hooks that read them"


def _cost(value: Cost, now: datetime) -> str:
    lines = [_head(value), "", *_doors(value), *_sessions(value), "", *_shares(value)]
    if value.models:
        tokens, dollars = f"{value.models.tokens:,}", f"${value.models.dollars:.2f}"
        lines += ["", _row("models that summarized sessions, 30 days", dollars, tokens)]
    if value.profiles:
        lines += ["", *_profiles(value)]
    return "\n".join(lines)


def _head(value: Cost) -> str:
    what = f"session {value.session_id}" if value.session_id else "all sessions"
    what += f" of project {value.project}" if value.project else ""
    return f"Cost of {what}{f' since {value.since} (UTC)' if value.since else ''}; a token is 4 bytes"


def _doors(value: Cost) -> Iterator[str]:
    if not value.doors:
        yield "Nothing counted yet: answers of hooks, MCP tools and HTTP routes are counted from now on"
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
    shares = {"injected unasked": value.injected, "recalled by tools": value.recalled}
    for name, share in (shares | {"cited": value.cited, "never used": value.never_used}).items():
        yield _row(name, f"{share.observations:,}", f"{share.tokens:,}") if share else f"{name:40} {_UNKNOWN}"


def _profiles(value: Cost) -> Iterator[str]:
    instructions = tokens_of(value.profiles[0].instruction_bytes)
    yield _row(f"each session, {instructions:,} for instructions", "tools", "tokens")
    for one in value.profiles:
        yield _row(f"profile {one.profile}", f"{one.tools:,}", f"{one.tokens:,}")


def _row(name: str, *cells: str) -> str:
    return f"{name:40}" + "".join(f"{cell:>9}" for cell in cells)


WORDS: Words = {Cost: _cost}
