"""Gather what is known of a session, and write its digest without a model: what was asked, what git tells was done,
what messages list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from engram_py.base.capture.host_formats import is_trivial, typed, without_memory_blocks
from engram_py.base.capture.passive import decisions_listed, parse_learnings, steps_listed, todos_listed
from engram_py.base.database.store import Row, Store
from engram_py.base.git.activity import Work, work_between
from engram_py.base.git.program import Deadline
from engram_py.base.git.repository import find_repository
from engram_py.base.times import parse_time, to_text
from engram_py.upkeep.distill import table
from engram_py.upkeep.distill.table import DueSession
from engram_py.upkeep.distill.values import Digest, SessionFacts, SessionTurn, Source

MOST_ITEMS = 8
GOAL_CHARS = 240
ITEM_CHARS = 240
# Of so many last messages of the agent the lists are read.
_MESSAGES = 20
_ID_CHARS = 8
_QUESTION_MARKS = ("?", "？", "؟")


class Heuristic:
    """The distiller that needs nothing: deterministic, and silent about a session in which nothing happened."""

    source: Source = "heuristic"

    def distill(self, facts: SessionFacts) -> Digest | None:
        """Return the digest, or None: no commit, no changed file, no decision, nothing open, and only questions
        answered."""
        asked = [prompt for prompt in facts.prompts if not is_trivial(prompt)]
        messages = [turn.content for turn in facts.turns if turn.role == "assistant"][-_MESSAGES:]
        decisions = _listed(messages)
        goal = beginning(asked[0], GOAL_CHARS) if asked else ""
        work = facts.work
        left = _open(facts, messages, goal)
        if not (decisions or left or _was_worked(work, asked)):
            return None
        return Digest(
            summary=_summary(work, decisions, left),
            goal=goal,
            done=tuple(_done_lines(work)),
            decisions=tuple(decisions),
            next_steps=tuple(left),
            salience=min(0.8, 0.4 + 0.1 * (len(decisions) + (len(work.kept) if work is not None else 0))),
        )


def beginning(text: str, limit: int) -> str:
    """Return what a prompt says before it shows a log or some code, on one line."""
    said = text.lstrip().partition("```")[0].partition("\n\n")[0]
    return one_line(said if said.strip() else text, limit)


def one_line(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, cut after a word."""
    line = " ".join(text[: 4 * limit].split())
    if len(line) <= limit:
        return line
    return line[:limit].rpartition(" ")[0].rstrip(" ,;:") + "…"


def _was_worked(work: Work | None, asked: Sequence[str]) -> bool:
    """Return whether anything was done. Without git to tell, a prompt that is no question asked for something to be
    done."""
    if work is not None:
        return not work.is_nothing
    return any(not prompt.rstrip().endswith(_QUESTION_MARKS) for prompt in asked)


def _listed(messages: Sequence[str]) -> list[str]:
    """Return the decisions and learnings that the messages list, the latest message first."""
    found: dict[str, None] = {}
    for message in reversed(messages):
        for item in (*decisions_listed(message), *parse_learnings(message)):
            found.setdefault(one_line(item, ITEM_CHARS))
    return [*found][:MOST_ITEMS]


def _open(facts: SessionFacts, messages: Sequence[str], goal: str) -> list[str]:
    """Return what is not done: the last prompt without an answer, the steps that the last message names, the goal
    itself where everything that was tried is gone again, and files that no commit has."""
    steps = [*steps_listed(messages[-1]), *todos_listed(messages[-1])] if messages else []
    if facts.unanswered:
        steps.insert(0, beginning(facts.unanswered, ITEM_CHARS))
    work = facts.work
    if work is not None:
        tried = work.dropped or work.reverted or work.restored
        if tried and not work.kept and not work.uncommitted and goal:
            steps.append(goal)
        if work.uncommitted:
            steps.append(f"Commit or drop the changes in {_names(work.uncommitted)}")
    return list(dict.fromkeys(one_line(step, ITEM_CHARS) for step in steps))[:MOST_ITEMS]


def _done_lines(work: Work | None) -> Iterable[str]:
    if work is None:
        return
    taken_back = {one.reverts: one for one in work.commits if one.reverts in work.reverted}
    for one in work.commits[-MOST_ITEMS:]:
        if one.id in taken_back:
            by = taken_back[one.id].id[:_ID_CHARS]
            yield f"{one.id[:_ID_CHARS]} {one_line(one.subject, ITEM_CHARS)} (reverted by {by})"
        elif one.reverts not in work.reverted:
            yield f"{one.id[:_ID_CHARS]} {one_line(one.subject, ITEM_CHARS)}"
    for one in work.dropped[-MOST_ITEMS:]:
        yield f"{one_line(one.subject, ITEM_CHARS)} (committed and dropped again)"
    for what, files in (("Changed", work.changed), ("Not committed", work.uncommitted)):
        if files:
            yield f"{what}: {_names(files)}"
    if work.restored:
        yield f"Edited and put back: {_names(work.restored)}"


def _summary(work: Work | None, decisions: Sequence[str], left: Sequence[str]) -> str:
    """At most three sentences of what there is, in numbers."""
    said = []
    if work is not None and not work.is_nothing:
        made, kept = len(work.commits), len(work.kept)
        where = f" on `{work.branch}`" if work.branch else ""
        if kept:
            said.append(f"{_count(kept, 'commit')}{where} changed {_count(len(work.changed), 'file')}.")
        elif made or work.dropped:
            said.append(f"Every commit{where} was taken back.")
        else:
            said.append("Nothing was committed.")
    if decisions:
        said.append(f"{_count(len(decisions), 'decision')} noted.")
    if left:
        said.append(f"{_count(len(left), 'thing')} left open.")
    return " ".join(said)


def _names(files: Sequence[str]) -> str:
    more = f" and {len(files) - MOST_ITEMS} more" if len(files) > MOST_ITEMS else ""
    return ", ".join(f"`{path}`" for path in files[:MOST_ITEMS]) + more


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# What an agent does after its last words: a tool writes a file. One that did not answer yet may have worked for longer.
_AFTERWARDS, _UNANSWERED = timedelta(seconds=60), timedelta(minutes=30)


def facts_of(store: Store, session: DueSession, now: datetime, *, seconds: float) -> SessionFacts:
    """Return what is known of a session; git is asked for at most ``seconds``."""
    asked = _own_words(table.prompts(store, session.id))
    # A subagent's task is written by an agent, not by the person.
    own = _own_words(row for row in table.turns(store, session.id) if not row["agent"])
    first, last = _span(store, session, now)
    unanswered = _unanswered(own, asked)
    until = _worked_until(store, session, last, now, long=bool(unanswered))
    return SessionFacts(
        session_id=session.id,
        project=session.project,
        directory=session.directory,
        agent=session.agent,
        started_at=to_text(first),
        ended_at=to_text(last),
        prompts=tuple(_prompts(own, asked)),
        turns=tuple(SessionTurn(row["role"], row["content"]) for row in own),
        unanswered=unanswered,
        work=_work(session.directory, first, until, seconds),
    )


def _span(store: Store, session: DueSession, now: datetime) -> tuple[datetime, datetime]:
    """Return when a session began, and when its last prompt or turn was, even if the clock was set back meanwhile."""
    told = [session.started_at, *table.span(store, session.id)]
    moments = [moment for moment in map(parse_time, told) if moment is not None] or [now]
    return min(moments), max(moments)


def _worked_until(store: Store, session: DueSession, last: datetime, now: datetime, *, long: bool) -> datetime:
    """Return when a session's work was over: soon after its last words, and before the next session of the project."""
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
    """Return the work in the session's checkout; None without a checkout."""
    folder = Path(directory)
    if not folder.is_absolute() or not folder.is_dir():
        return None
    repository = find_repository(folder)
    if repository is None or repository.bare:
        return None
    return work_between(repository, first, last, Deadline(seconds))
