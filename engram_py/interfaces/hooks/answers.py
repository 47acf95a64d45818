"""What each agent expects on stdout: JSON of its own, or the text as it is. Without a context, nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engram_py.dataclass import dataclass
from engram_py.interfaces.hooks.events import Event, event_named

Shape = Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class Agent:
    """How an agent is answered, and at which events it passes an answer on to its model."""

    shape: Shape
    listens: frozenset[Event]


def _nested(name: str, text: str) -> object:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


def _flat(_: str, text: str) -> object:
    return {"additional_context": text}


def _camel(_: str, text: str) -> object:
    return {"additionalContext": text}


def _cline(_: str, text: str) -> object:
    return {"cancel": False, "contextModification": text}


def _plain(_: str, text: str) -> object:
    return text


def _going_on(_: str, text: str) -> object:
    """Return an agent that wants to stop reads a text only if it has to go on."""
    return {"decision": "block", "reason": text}


_STARTS: frozenset[Event] = frozenset({"session-start", "user-prompt"})
_ALL: frozenset[Event] = _STARTS | {"subagent-start", "pre-tool"}

# From each program's own reference of its hooks, as of 2026.
AGENTS: dict[str, Agent] = {
    "claude-code": Agent(_nested, _ALL | {"stop"}),
    "codex": Agent(_nested, _ALL - {"pre-tool"}),
    "qwen": Agent(_nested, _ALL),
    "vscode": Agent(_nested, _ALL),
    "gemini": Agent(_nested, _STARTS),
    "cursor": Agent(_flat, frozenset({"session-start"})),
    "copilot": Agent(_camel, frozenset({"session-start"})),
    "cline": Agent(_cline, _ALL - {"subagent-start"}),
    "kiro": Agent(_plain, _STARTS),
    "opencode": Agent(_plain, _ALL),
    "windsurf": Agent(_plain, frozenset()),  # shows what a hook prints to the person alone
}
_OTHER = Agent(_plain, _STARTS)
_ALIASES = {"claude": "claude-code", "gemini-cli": "gemini", "codex-cli": "codex", "qwen-code": "qwen"}
# The name an agent gives the event where it wants it back; nobody else reads it.
_NAMES: dict[Event, str] = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "subagent-start": "SubagentStart",
    "pre-tool": "PreToolUse",
}
_GEMINI_NAMES = {"user-prompt": "BeforeAgent", "pre-tool": "BeforeTool"}


def agent_named(name: str) -> str:
    """Return an agent's name as we spell it: lower case, with ``-``."""
    plain = "-".join(name[:40].lower().replace("_", "-").split())
    return _ALIASES.get(plain, plain) or "unknown"


def agent_in(event: str) -> tuple[str, str]:
    """Return the agent that an event's name begins with, as in ``codex-session-end``, and the rest of it."""
    head, _, rest = event.partition("-")
    agent = agent_named(head)
    return (agent, rest) if agent in AGENTS and event_named(rest) else ("", event)


def listens(agent: str, event: Event) -> bool:
    """Return whether an agent passes on what a hook prints at this event: else nothing has to be looked up."""
    return event in AGENTS.get(agent, _OTHER).listens


def answer(agent: str, event: Event, text: str) -> bytes:
    """Return the bytes to print for a context; none for an empty one, and where the agent does not listen."""
    if not text or not listens(agent, event):
        return b""
    name = _GEMINI_NAMES.get(event) if agent == "gemini" else None
    shape = _going_on if event == "stop" else AGENTS.get(agent, _OTHER).shape
    value = shape(name or _NAMES.get(event, event), text)
    if isinstance(value, str):
        return value.encode("utf-8", "replace") + b"\n"
    import json

    return json.dumps(value).encode() + b"\n"


def bound_call(agent: str, arguments: Mapping[str, Any]) -> bytes:
    """Return the bytes that have a tool called with these arguments. Codex takes them only with a permission."""
    import json

    said: dict[str, Any] = {"hookEventName": "PreToolUse", "updatedInput": arguments}
    if agent == "codex":
        said["permissionDecision"] = "allow"
    return json.dumps({"hookSpecificOutput": said}).encode() + b"\n"


def session_said(session_id: str, *, as_json: bool) -> bytes:
    """Return the bytes that name a session to a script."""
    if not as_json:
        return session_id.encode("utf-8", "replace") + b"\n"
    import json

    return json.dumps({"session_id": session_id}).encode() + b"\n"
