"""The events a hook can be called for, in our words and in those of the agents."""

from __future__ import annotations

import re
from typing import Literal

Event = Literal[
    "session-start",
    "user-prompt",
    "pre-tool",
    "pre-compact",
    "subagent-start",
    "subagent-stop",
    "stop",
    "session-end",
    "register",
]

# How agents spell them (Claude Code, Codex, Qwen Code and VS Code alike; Gemini CLI; Cursor; Kiro; Cline; Windsurf),
# without what is neither letter nor digit. ``register`` is what the scripts of Engram's Codex plugin ask.
_SPELLINGS: dict[Event, str] = {
    "session-start": "sessionstart agentspawn taskstart taskresume postcompact",
    "user-prompt": "userprompt userpromptsubmit userpromptsubmitted beforesubmitprompt beforeagent promptsubmit "
    "preuserprompt",
    "pre-tool": "pretool pretooluse beforetool",
    "pre-compact": "precompact precompress",
    "subagent-start": "subagentstart",
    "subagent-stop": "subagentstop",
    "stop": "stop agentstop afteragent afteragentresponse taskcomplete postcascaderesponse",
    "session-end": "sessionend taskcancel",
    "register": "register resolve",
}
EVENTS: tuple[Event, ...] = tuple(_SPELLINGS)
_BY_SPELLING: dict[str, Event] = {word: event for event, words in _SPELLINGS.items() for word in words.split()}


def event_named(name: str) -> Event | None:
    """Return the event of a name in anybody's spelling; None for one that is not known."""
    return _BY_SPELLING.get(_plain(name))


def resumes(name: str) -> str:
    """Return how a session starts where the event's own name says it: ``compact``, ``resume``, or nothing."""
    return {"postcompact": "compact", "taskresume": "resume"}.get(_plain(name), "")


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name[:80].lower())
