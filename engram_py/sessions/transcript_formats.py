"""Reads the lines of agents' transcripts: from JSON of several shapes to what a person and an agent said. Pure.

None of these formats is a promise of its program, so nothing here depends on more than it needs: a line that is
not understood says nothing. Seen: Claude Code (``type``, ``message.content`` blocks), Codex CLI (``response_item``
and ``event_msg`` envelopes), Gemini CLI (``type`` user or gemini, ``content``), Qwen Code (``message.parts``),
Cursor (``role``, ``message.content``), VS Code (``user.message``, ``data.content``).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from engram_py.capture.trivial_prompts import is_synthetic
from engram_py.sessions.values import Role, Turn

# A turn waits to be distilled: its beginning says what it is about, and what was pasted into it does not.
TURN_LIMIT_CHARS = 8_000
_KEY_LIMIT_CHARS = 100
_MOST_PIECES = 1_000

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "user.message": "user",
    "user_message": "user",
    "assistant": "assistant",
    "model": "assistant",
    "gemini": "assistant",
    "assistant.message": "assistant",
}
_TEXTUAL = frozenset({"", "text", "input_text", "output_text"})
_CITED = re.compile(r"\[#([0-9]{1,18})\]")


def turn_of(line: bytes | str, position: int = 0) -> Turn | None:
    """Return the turn that one line of a transcript holds; None for a line that says nothing."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _turn(value, position) if isinstance(value, dict) else None


def turns_of_document(text: bytes | str) -> list[Turn]:
    """Return the turns of a transcript that is one JSON document with its ``messages``; none of anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    messages = value.get("messages") if isinstance(value, dict) else None
    records = messages if isinstance(messages, list) else []
    found = (_turn(one, at) for at, one in enumerate(records) if isinstance(one, dict))
    return [turn for turn in found if turn]


def spoken(role: Role, text: str) -> Turn | None:
    """Return the turn of a text that comes without a transcript; its words are its name."""
    text = printable(text).strip()
    return Turn(role, text, digest(role, "", text)) if text else None


def cited_ids(text: str) -> list[int]:
    """Return the ids a text cites as ``[#12]``, once each, in their order."""
    return list(dict.fromkeys(int(number) for number in _CITED.findall(text)))


def role_of(name: object) -> Role | None:
    """Return who speaks, by the name a program gives them; None for a tool, a system, and names nobody knows."""
    return _ROLES.get(name.lower()) if isinstance(name, str) else None


def text_of(content: object) -> str:
    """Return the words of a message as they can be stored; "" of one that has none."""
    return printable("\n".join(_texts(content))).strip()


def digest(*parts: str) -> str:
    """Return a short name for these texts together."""
    joined = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(joined).hexdigest()[:32]


def printable(text: str) -> str:
    """``text`` as it can be stored: without NUL, and without halves of surrogate pairs."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _turn(value: dict[str, Any], position: int) -> Turn | None:
    record, role = _spoken(value)
    if role is None or value.get("isMeta") is True or value.get("isCompactSummary") is True:
        return None
    text = text_of(record)
    if not text or (role == "user" and is_synthetic(text)):
        return None
    said_at = _text_at(value, "timestamp")
    key = _text_at(value, "uuid") or _text_at(value, "id") or digest(role, said_at, text)
    return Turn(
        role=role,
        content=text,
        key=printable(key)[:_KEY_LIMIT_CHARS],
        position=position,
        agent=printable(_text_at(value, "agentId"))[:_KEY_LIMIT_CHARS],
        said_at=printable(said_at)[:40] or None,
    )


def _spoken(value: dict[str, Any]) -> tuple[Any, Role | None]:
    """Return the part of a record that holds the words, and who spoke them."""
    kind, payload = value.get("type"), value.get("payload")
    if isinstance(payload, dict):
        inner = payload.get("type")
        if kind == "event_msg" and inner == "user_message":
            return payload.get("message"), "user"
        # What a person typed is told by its event: the protocol's own user items hold injected texts as well.
        if kind == "response_item" and inner == "message" and payload.get("role") == "assistant":
            return payload.get("content"), "assistant"
        return None, None
    message, data = value.get("message"), value.get("data")
    if isinstance(data, dict) and isinstance(kind, str) and kind in _ROLES:
        return data.get("content"), _ROLES[kind]
    if isinstance(message, dict):
        role = role_of(message.get("role")) or role_of(value.get("role")) or role_of(kind)
        return message.get("content", message.get("parts")), role
    return value.get("content", value.get("parts")), role_of(value.get("role")) or role_of(kind)


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a content and of its pieces, without thoughts, tools and results."""
    if isinstance(content, str):
        yield content
        return
    if not isinstance(content, list):
        return
    for piece in content[:_MOST_PIECES]:
        if isinstance(piece, str):
            yield piece
        elif isinstance(piece, dict) and piece.get("type", "") in _TEXTUAL and not piece.get("thought"):
            text = piece.get("text")
            if isinstance(text, str):
                yield text


def _text_at(value: dict[str, Any], name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""
