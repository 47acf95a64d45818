"""Write a session's digest without a model: what was asked, what git tells was done, what messages list. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram_py.capture.host_formats import is_trivial
from engram_py.capture.passive import parse_learnings
from engram_py.distill.values import Digest, SessionFacts, Source
from engram_py.git.work import Work
from engram_py.sessions.summary_steps import decisions_listed, steps_listed

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
            done=tuple(_done(work)),
            decisions=tuple(decisions),
            next_steps=tuple(left),
            salience=_salience(work, decisions),
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
    steps = list(steps_listed(messages[-1])) if messages else []
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


def _done(work: Work | None) -> Iterable[str]:
    """Yield a line for each commit, with what became of it, and the files."""
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


def _salience(work: Work | None, decisions: Sequence[str]) -> float:
    weight = len(decisions) + (len(work.kept) if work is not None else 0)
    return min(0.8, 0.4 + 0.1 * weight)


def _names(files: Sequence[str]) -> str:
    more = f" and {len(files) - MOST_ITEMS} more" if len(files) > MOST_ITEMS else ""
    return ", ".join(f"`{path}`" for path in files[:MOST_ITEMS]) + more


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
