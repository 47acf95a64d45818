"""The words of sessions, prompts, raw messages, and of what passive capture learned."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, age, amount, last_active, one_line
from engram_py.sessions.values import Captured, KeptTurn, Prompt, PromptSaved, SessionLine, SessionState


def _state(value: SessionState, now: datetime) -> str:
    return f"Session {value.session.id} {value.event} in {value.session.project}"


def _prompt_saved(value: PromptSaved, now: datetime) -> str:
    verb = "Prompt kept" if value.outcome == "added" else "Prompt known already"
    return f"{verb} in {value.project}"


def _captured(value: Captured, now: datetime) -> str:
    if not value.extracted:
        return "No learnings found: list them under a heading such as ## Key Learnings"
    ids = " ".join(f"[#{row}]" for row in value.ids)
    return f"Learnings: {value.extracted} found, {value.saved} new, {value.duplicates} known already {ids}".rstrip()


def _session(item: SessionLine, now: datetime) -> str:
    state = "open" if item.ended_at is None else "ended"
    agent = f" {item.agent}" if item.agent else ""
    head = f"{item.id} {item.project}{agent} {last_active(item, now)}, {state}"
    return f"{head} [{amount(item.observations, 'observation')}] {one_line(item.summary or '')}".rstrip()


def _turn(item: KeptTurn, now: datetime) -> str:
    who = f"{item.role} ({item.agent})" if item.agent else item.role
    return f"{age(item.said_at or item.read_at, now)} {item.session_id} {who}: {one_line(item.content)}"


def _prompt(item: Prompt, now: datetime) -> str:
    return f"{item.id} {age(item.created_at, now)} {item.project}: {one_line(item.content)}"


WORDS: Words = {
    SessionState: _state,
    PromptSaved: _prompt_saved,
    Captured: _captured,
    SessionLine: _session,
    KeptTurn: _turn,
    Prompt: _prompt,
}
