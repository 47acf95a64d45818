"""What agents say and what they expect: the events in each agent's spelling, the arguments and the fields on stdin that
a hook needs, and the answer on stdout: JSON of its own, or the text as it is. Without a context, nothing at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from engram_py.base.capture.acts import NOTHING, UNKNOWN, Act, Outcome, act_of, clean, outcome_of
from engram_py.base.capture.host_formats import is_typed, typed
from engram_py.base.dataclass import dataclass, field
from engram_py.base.files import expanded, lines_of

Event = Literal[
    "session-start",
    "user-prompt",
    "pre-tool",
    "post-tool",
    "tool-failed",
    "pre-compact",
    "subagent-start",
    "subagent-stop",
    "stop",
    "session-end",
    "register",
]

# How agents spell them (Claude Code, Codex, Qwen Code and VS Code alike; Gemini CLI; Cursor; Kiro; Cline; Windsurf),
# without what is neither letter nor digit. ``register`` is what the scripts of Engram's plugins ask.
_SPELLINGS: dict[Event, str] = {
    "session-start": "sessionstart agentspawn taskstart taskresume postcompact",
    "user-prompt": "userprompt userpromptsubmit userpromptsubmitted beforesubmitprompt beforeagent promptsubmit "
    "preuserprompt",
    "pre-tool": "pretool pretooluse beforetool",
    "post-tool": "posttool posttooluse aftertool",
    "tool-failed": "toolfailed posttoolusefailure",
    "pre-compact": "precompact precompress",
    "subagent-start": "subagentstart",
    "subagent-stop": "subagentstop",
    "stop": "stop agentstop afteragent afteragentresponse taskcomplete postcascaderesponse",
    "session-end": "sessionend taskcancel",
    "register": "register resolve sessionregister",
}
EVENTS: tuple[Event, ...] = tuple(_SPELLINGS)
AFTER_TOOL: tuple[Event, ...] = ("post-tool", "tool-failed")
_BY_SPELLING: dict[str, Event] = {word: event for event, words in _SPELLINGS.items() for word in words.split()}


def event_named(name: str) -> Event | None:
    """Return the event of a name in anybody's spelling; None for one that is not known."""
    return _BY_SPELLING.get(_letters(name))


def resumes(name: str) -> str:
    """Return how a session starts where the event's own name says it: ``compact``, ``resume``, or nothing."""
    return {"postcompact": "compact", "taskresume": "resume"}.get(_letters(name), "")


def _letters(name: str) -> str:
    return "".join(char for char in name[:80].lower() if char.isascii() and char.isalnum())


# How an agent wants a text, given the event's name and the text.
Shape = Literal["nested", "flat", "camel", "cline", "plain", "block"]
_SHAPES: dict[Shape, Callable[[str, str], object]] = {
    "nested": lambda name, text: {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}},
    "flat": lambda _, text: {"additional_context": text},
    "camel": lambda _, text: {"additionalContext": text},
    "cline": lambda _, text: {"cancel": False, "contextModification": text},
    "plain": lambda _, text: text,
    # An agent that wants to stop reads a text only if it has to go on.
    "block": lambda _, text: {"decision": "block", "reason": text},
}


# How an agent, or else one of its shape, is told that a tool is not to run.
_DENIALS: dict[str, Callable[[str], object]] = {
    "gemini": lambda reason: {"decision": "deny", "reason": reason},
    "nested": lambda reason: {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }
    },
    "cline": lambda reason: {"cancel": True, "errorMessage": reason},
    "opencode": lambda reason: {"decision": "deny", "reason": reason},  # as our own plugin reads it
}


@dataclass(frozen=True, slots=True)
class HookAgent:
    """The form of answers to an agent, and the events at which it passes an answer on to its model.

    An answer of more than ``most_bytes`` it keeps in a file, and shows its model a short preview; 0: of any size.
    """

    shape: Shape
    listens: frozenset[Event]
    most_bytes: int = 0


_STARTS: frozenset[Event] = frozenset({"session-start", "user-prompt"})
_ALL: frozenset[Event] = _STARTS | {"subagent-start", "pre-tool", "post-tool", "tool-failed"}

# Claude Code counts 10,000 characters; Codex 2,500 tokens of four bytes.
_MOST_BYTES = 10_000

# From each program's own reference of its hooks, as of 2026.
AGENTS: dict[str, HookAgent] = {
    "claude-code": HookAgent("nested", _ALL | {"stop"}, _MOST_BYTES),
    "codex": HookAgent("nested", _ALL, _MOST_BYTES),
    "qwen": HookAgent("nested", _ALL),
    "vscode": HookAgent("nested", _ALL),
    "gemini": HookAgent("nested", _STARTS | {"post-tool"}),
    "cursor": HookAgent("flat", frozenset({"session-start"})),
    "copilot": HookAgent("camel", frozenset({"session-start"})),
    "cline": HookAgent("cline", _ALL - {"subagent-start"}),
    "kiro": HookAgent("plain", _STARTS),
    "opencode": HookAgent("plain", _ALL),
    "windsurf": HookAgent("plain", frozenset()),  # shows what a hook prints to the person alone
}
_OTHER = HookAgent("plain", _STARTS)
_ALIASES = {"claude": "claude-code", "gemini-cli": "gemini", "codex-cli": "codex", "qwen-code": "qwen"}
# The name an agent gives the event where it wants it back; nobody else reads it.
_NAMES: dict[Event, str] = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "subagent-start": "SubagentStart",
    "pre-tool": "PreToolUse",
    "post-tool": "PostToolUse",
    "tool-failed": "PostToolUseFailure",
}
_GEMINI_NAMES = {"user-prompt": "BeforeAgent", "pre-tool": "BeforeTool", "post-tool": "AfterTool"}


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


def answer(agent: str, event: Event, text: str, *, denies: bool = False) -> bytes:
    """Return the bytes to print for a context; none for an empty one, and where the agent does not listen.

    ``denies``: the tool is not to run, and the text is the reason, for an agent that takes a denial. A text that the
    agent would replace by a preview loses lines from its middle.
    """
    data = _printed(agent, event, text, denies=denies)
    most = AGENTS.get(agent, _OTHER).most_bytes
    if not most or len(data) <= most:
        return data
    return _printed(
        agent, event, _shortened(text, most - len(_printed(agent, event, "-", denies=denies))), denies=denies
    )


def share_passed_on(agent: str, event: Event, text: str) -> float:
    """Return which share of the answer with this text the agent passes on, 1 for all of it."""
    most = AGENTS.get(agent, _OTHER).most_bytes
    return min(1, most / max(1, len(_printed(agent, event, text)))) if most else 1


def _printed(agent: str, event: Event, text: str, *, denies: bool = False) -> bytes:
    shape = AGENTS.get(agent, _OTHER).shape
    if denies and (denial := _DENIALS.get(agent, _DENIALS.get(shape))):
        return _json(denial(text))
    if not text or not listens(agent, event):
        return b""
    name = _GEMINI_NAMES.get(event) if agent == "gemini" else None
    value = _SHAPES["block" if event == "stop" else shape](name or _NAMES.get(event, event), text)
    return value.encode("utf-8", "replace") + b"\n" if isinstance(value, str) else _json(value)


_PIECE_CHARS = 400
_END_SHARE = 0.25  # of the room: a text ends with what closes it, and with what to do


def _shortened(text: str, room: int) -> str:
    """Return the beginning and the end of a text that as JSON fit in these bytes, and how much is left out between."""
    pieces = [
        line[at : at + _PIECE_CHARS] for line in lines_of(text, ends=True) for at in range(0, len(line), _PIECE_CHARS)
    ]
    note = "\n[{:,} characters left out: the agent would show a preview of a longer text; mem_search finds the rest]\n"
    room -= _quoted_size(note.format(len(text)))
    end = _fitting(pieces[::-1], int(room * _END_SHARE))
    begin = _fitting(pieces, room - sum(map(_quoted_size, pieces[len(pieces) - end :])))
    left_out = sum(map(len, pieces[begin : len(pieces) - end]))
    return "".join((*pieces[:begin], note.format(left_out), *pieces[len(pieces) - end :]))


def _fitting(pieces: Sequence[str], room: int) -> int:
    """Return how many of the first pieces fit."""
    for number, piece in enumerate(pieces):
        room -= _quoted_size(piece)
        if room < 0:
            return number
    return len(pieces)


def _quoted_size(text: str) -> int:
    return len(_json(text)) - len(b'""\n')


def _json(value: object) -> bytes:
    import json

    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def bound_call(agent: str, arguments: Mapping[str, Any]) -> bytes:
    """Return the bytes that have a tool called with these arguments. Codex takes them only with a permission."""
    said: dict[str, Any] = {"hookEventName": "PreToolUse", "updatedInput": arguments}
    if agent == "codex":
        said["permissionDecision"] = "allow"
    return _json({"hookSpecificOutput": said})


def session_said(agent: str, session_id: str, *, as_json: bool) -> bytes:
    """Return the bytes that name a session to a script of Engram's plugins; that of Claude Code reads an ``id``."""
    if agent == "claude-code":
        return _json({"id": session_id})
    if not as_json:
        return session_id.encode("utf-8", "replace") + b"\n"
    return _json({"session_id": session_id})


# The most that is read of a call; what an agent writes to a file in one call fits many times over.
MOST_INPUT_BYTES = 8 * 1024 * 1024
# A prompt is cut to 50,000 bytes when it is stored. Some more is read, so that a secret at that place is seen whole;
# a text that is cut here is redacted here.
PROMPT_LIMIT_CHARS = 64_000
MESSAGE_LIMIT_CHARS = 200_000
_ID_LIMIT = 200
_PATH_LIMIT = 4_096

_SESSION = ("session_id", "sessionId", "conversation_id", "conversationId", "taskId", "trajectory_id")
_DIRECTORY = ("cwd", "workspace_path", "workspacePath", "directory")
_ROOTS = ("workspace_roots", "workspaceRoots")
_PROMPT = ("prompt", "user_prompt", "userPrompt", "message", "text")
_LAST = ("last_assistant_message", "prompt_response", "lastAssistantMessage", "assistant_response", "response", "text")
_TASK = ("task", "prompt", "description")
_SUBAGENT = ("agent_id", "agentId", "subagent_id")
# Objects in which some agents put what is particular to an event.
_INNER = ("userPromptSubmit", "taskStart", "tool_info", "preToolUse", "taskComplete", "taskMetadata")
_DIRECTORY_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "CURSOR_PROJECT_DIR")
# The memory's tools that belong to a session → the argument that names it, and how Claude Code, Codex and OpenCode call
# them.
_OF_SESSIONS = """
mem_save mem_save_prompt mem_session_summary mem_capture_passive mem_judge mem_fact mem_note mem_identity mem_entity
"""
MEMORY_TOOLS = dict.fromkeys(_OF_SESSIONS.split(), "session_id") | {"mem_session_start": "id", "mem_session_end": "id"}
_MEMORY_SERVERS = ("mcp__engram__", "mcp__plugin_engram_engram__", "engram_")
_OPTIONS = ("--agent", "--limit-ms", "--pretool", "--data-dir")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Arguments:
    """The words after ``engram hook``. Whatever they are, a hook goes on: an agent cannot read a usage message.

    ``always_json``: a script of Engram's plugins asks, which reads an object even where there is nothing to say.
    """

    event: str = ""
    agent: str = "unknown"
    limit_ms: int = 0
    pretool: str = ""
    data_dir: str = ""
    always_json: bool = False


def arguments(words: Sequence[str]) -> Arguments:
    """Parse ``EVENT [--agent NAME] [--limit-ms N] [--pretool on|off] [--data-dir DIR]``, also as ``--name=value``."""
    found: dict[str, str] = {}
    event = ""
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in _OPTIONS:
            found[name] = value if equals else next(rest, "")
        elif not event and not word.startswith("-"):
            event = word
    limit = found.get("--limit-ms", "")
    prefix, event = agent_in(event)
    return Arguments(
        event=event,
        agent=agent_named(found.get("--agent", "") or prefix),
        limit_ms=int(limit) if limit.isdecimal() and len(limit) < 10 else 0,
        pretool=found.get("--pretool", "").lower(),
        data_dir=found.get("--data-dir", ""),
        always_json=bool(prefix) and event_named(event) in ("user-prompt", "pre-tool"),
    )


@dataclass(frozen=True, slots=True)
class Request:
    """One call of a hook. ``session_id`` is always something; ``directory`` exists, or did once.

    ``act`` is what a tool is about to do or did, ``outcome`` how it went. There is no ``prompt`` where the event is a
    subagent's: its task is another agent's text.

    ``memory_tool`` is the tool of this memory that is about to be called with ``tool_input``, where it is one that
    belongs to a session.
    """

    session_id: str
    directory: Path
    source: str = ""
    prompt: str = ""
    transcript: str = ""
    subagent_transcript: str = ""
    subagent: str = ""
    last_message: str = ""
    task: str = ""
    act: Act = NOTHING
    outcome: Outcome = UNKNOWN
    memory_tool: str = ""
    tool_input: Mapping[str, Any] = field(default_factory=dict)

    def bound(self, session_id: str) -> dict[str, Any]:
        """Return ``tool_input`` in this session, whatever session the model named."""
        return {**self.tool_input, MEMORY_TOOLS[self.memory_tool]: session_id}


class BadInput(Exception):
    """Why nothing can be made of the input; said in the log alone."""


def received(agent: str) -> dict[str, Any]:
    """Return the JSON object on stdin as soon as the whole of it has arrived: some agents leave the pipe open.

    Bytes past the limit are read and dropped: an agent whose pipe is closed early may take that for a failure. A
    terminal is not read. Raises BadInput.
    """
    said = os.environ.get("USER_PROMPT", "") if agent == "kiro" else ""
    if said:  # Kiro's editor before 1.0 leaves stdin open and empty
        return {"prompt": said}
    parts: list[bytes] = []
    size = 0
    while sys.stdin is not None and not os.isatty(0) and (chunk := os.read(0, _CHUNK)):
        size += len(chunk)
        if size <= MOST_INPUT_BYTES + 1:
            parts.append(chunk)
        if size <= MOST_INPUT_BYTES and chunk.rstrip().endswith(b"}"):
            with suppress(BadInput):
                return loaded(b"".join(parts))
    if size > MOST_INPUT_BYTES:
        raise BadInput("input_too_large")
    return loaded(b"".join(parts))


def loaded(data: bytes) -> dict[str, Any]:
    """Return the JSON object of ``data``. Raises BadInput, which names the reason and nothing of the text."""
    import json

    if not data.strip():
        raise BadInput("empty_input")
    if len(data) > MOST_INPUT_BYTES:
        raise BadInput("input_too_large")
    try:
        value = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise BadInput("input_is_not_json") from None
    if not isinstance(value, dict):
        raise BadInput("input_is_no_object")
    return value


def parse(
    value: Mapping[str, Any], *, agent: str, environ: Mapping[str, str], here: Path, event: Event | None = None
) -> Request:
    """Return the fields of a call. A missing or mistyped field is empty, but session and folder never are."""
    flat = dict(value)
    for name in _INNER:
        inner = flat.get(name)
        if isinstance(inner, dict):
            flat = {**inner, **flat}
    directory = _directory(flat, environ, here)
    tool_input = flat.get("tool_input", flat.get("toolArgs", flat.get("parameters")))
    tool = _first(flat, ("tool_name", "toolName", "tool"), 80)
    # Only events inside a subagent name its id; a session of a chosen agent has an `agent_type` too.
    asked = is_typed(flat) and not _first(flat, _SUBAGENT, 80)
    memory_tool = next((tool.removeprefix(one) for one in _MEMORY_SERVERS if tool.startswith(one)), "")
    given = tool_input if memory_tool in MEMORY_TOOLS and isinstance(tool_input, dict) else None
    return Request(
        session_id=_session_id(_first(flat, _SESSION, _PATH_LIMIT), agent, directory),
        directory=directory,
        source=(_first(flat, ("source",), 40) or _first(flat, ("trigger",), 40)).lower(),
        prompt=_text(flat, _PROMPT, PROMPT_LIMIT_CHARS, typed) if asked else "",
        transcript=_first(flat, ("transcript_path", "transcriptPath"), _PATH_LIMIT),
        subagent_transcript=_first(flat, ("agent_transcript_path",), _PATH_LIMIT),
        subagent=_first(flat, ("agent_type", "subagent_type", *_SUBAGENT), 80),
        last_message=_text(flat, _LAST, MESSAGE_LIMIT_CHARS),
        task=_text(flat, _TASK, PROMPT_LIMIT_CHARS, typed),
        act=act_of(tool, tool_input),
        outcome=outcome_of(flat, failed=True if event == "tool-failed" else None) if event in AFTER_TOOL else UNKNOWN,
        memory_tool="" if given is None else memory_tool,
        tool_input=given or {},
    )


def _first(value: Mapping[str, Any], names: tuple[str, ...], limit: int) -> str:
    for name in names:
        found = value.get(name)
        if isinstance(found, str) and found.strip():
            return clean(found[:limit])
    return ""


def _text(value: Mapping[str, Any], names: tuple[str, ...], limit: int, own: Callable[[str], str] = str) -> str:
    """Return of the first of the names that is a text what is somebody's ``own``; redacted before it is cut."""
    found = own(_first(value, names, MOST_INPUT_BYTES))
    return found if len(found) <= limit else _head(found, limit)


@lru_cache(maxsize=2)  # a prompt may be the task as well
def _head(text: str, limit: int) -> str:
    from engram_py.base.capture.redact import redact_head  # few texts are so long

    return redact_head(text, limit).text


def _directory(value: Mapping[str, Any], environ: Mapping[str, str], here: Path) -> Path:
    """Return the folder that the agent names, else the one of its variable, else the one the hook was started in."""
    said = [_first(value, (name,), _PATH_LIMIT) for name in _DIRECTORY]
    for name in _ROOTS:
        roots = value.get(name)
        if isinstance(roots, list):
            said += [clean(root[:_PATH_LIMIT]) for root in roots[:1] if isinstance(root, str)]
    for text in (*said, *(environ.get(name, "") for name in _DIRECTORY_VARIABLES)):
        path = expanded(text)
        if text and path.is_absolute():
            return path
    return here


def _session_id(said: str, agent: str, directory: Path) -> str:
    """Return the agent's own id of its session, hashed if it cannot be a name; without one, an id for each folder."""
    if said and len(said) <= _ID_LIMIT and said.isprintable():
        return said.strip()
    import hashlib  # libcrypto takes as long as ten of our modules

    named = said or f"{agent} in {directory}"
    return f"{agent}-{hashlib.sha256(named.encode('utf-8', 'replace')).hexdigest()[:16]}"
