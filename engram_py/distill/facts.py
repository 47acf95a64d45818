"""Gather what is known of a session: its turns, its prompts, and what git tells of its time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from engram_py.capture.host_formats import is_trivial, typed, without_memory_blocks
from engram_py.database.store import Row, Store
from engram_py.distill import table
from engram_py.distill.table import Waiting
from engram_py.distill.values import Facts, Said
from engram_py.git.program import Deadline
from engram_py.git.repository import find_repository
from engram_py.git.work import Work, work_between
from engram_py.times import parse_time, to_text

# What an agent does after its last words: a tool writes a file. One that did not answer yet may have worked for longer.
_AFTERWARDS, _UNANSWERED = timedelta(seconds=60), timedelta(minutes=30)


def facts_of(store: Store, session: Waiting, now: datetime, *, seconds: float) -> Facts:
    """Return what is known of a session; git is asked for at most ``seconds``."""
    asked = _own_words(table.prompts(store, session.id))
    # What is said to a subagent nobody typed.
    own = _own_words(row for row in table.turns(store, session.id) if not row["agent"])
    first, last = _span(store, session, now)
    unanswered = _unanswered(own, asked)
    until = _worked_until(store, session, last, now, long=bool(unanswered))
    return Facts(
        session_id=session.id,
        project=session.project,
        directory=session.directory,
        agent=session.agent,
        started_at=to_text(first),
        ended_at=to_text(last),
        prompts=tuple(_prompts(own, asked)),
        turns=tuple(Said(row["role"], row["content"]) for row in own),
        unanswered=unanswered,
        work=_work(session.directory, first, until, seconds),
    )


def _span(store: Store, session: Waiting, now: datetime) -> tuple[datetime, datetime]:
    """From the start of a session to the last thing that was said in it, whatever the clock did meanwhile."""
    told = [session.started_at, *table.span(store, session.id)]
    moments = [moment for moment in map(parse_time, told) if moment is not None] or [now]
    return min(moments), max(moments)


def _worked_until(store: Store, session: Waiting, last: datetime, now: datetime, *, long: bool) -> datetime:
    """When a session's work was over: soon after its last words, and before the next session of the project."""
    ends = [last + (_UNANSWERED if long else _AFTERWARDS), max(now, last)]
    following = parse_time(table.next_start(store, session.project, to_text(last)))
    ended = parse_time(session.ended_at) if long else None
    ends += [moment for moment in (following, ended) if moment is not None and moment > last]
    return min(ends)


def _own_words(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return prompts or turns as their speaker said them: rows of earlier versions hold what programs wrote as well."""
    found = []
    for row in map(dict, rows):
        said = row["content"]
        row["content"] = without_memory_blocks(said).strip() if row.get("role") == "assistant" else typed(said)
        found += [row] if row["content"] else []
    return found


def _prompts(turns: Sequence[dict[str, Any]], asked: Sequence[dict[str, Any]]) -> list[str]:
    """Return what the person asked, in order, each once: as hooks kept it, and as transcripts tell it."""
    told = [row for row in turns if row["role"] == "user"]
    kept = {_plain(row["content"]) for row in asked}
    rows = [(row["created_at"], row["content"]) for row in asked]
    rows += [(row["at"], row["content"]) for row in told if _plain(row["content"]) not in kept]
    return [text for _, text in sorted(rows, key=lambda row: row[0])]


def _unanswered(turns: Sequence[dict[str, Any]], asked: Sequence[dict[str, Any]]) -> str:
    """Return the last prompt that asks for something, if the agent said nothing after it."""
    if turns and turns[-1]["role"] == "user":
        last = turns[-1]["content"]
    else:
        known = {_plain(row["content"]) for row in turns if row["role"] == "user"}
        answered = max((row["at"] for row in turns), default="")
        waits = [row for row in asked if row["created_at"] > answered and _plain(row["content"]) not in known]
        last = waits[-1]["content"] if waits else ""
    return "" if is_trivial(last) else last


def _plain(text: str) -> str:
    """Return what of a text tells whether it is another: of a prompt the beginning is kept as a turn."""
    return " ".join(text[:2_000].split())


def _work(directory: str, first: datetime, last: datetime, seconds: float) -> Work | None:
    """Return what was done in the session's checkout; None where it is none, or is gone."""
    folder = Path(directory)
    if not folder.is_absolute() or not folder.is_dir():
        return None
    repository = find_repository(folder)
    if repository is None or repository.bare:
        return None
    return work_between(repository, first, last, Deadline(seconds))
