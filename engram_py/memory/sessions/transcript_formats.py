"""Reads the lines of agents' transcripts: from JSON of several shapes to what a person and an agent said. Pure.

None of these formats is a promise of its program, so nothing here depends on more than it needs: a line that is
not understood says nothing. Seen: Claude Code (``type``, ``message.content`` blocks), Codex CLI (``response_item``
and ``event_msg`` envelopes; since 0.147 what a person typed is an ``item_completed`` of a ``UserMessage``), Gemini
CLI (``type`` user or gemini, ``content``, ``displayContent`` where it differs, whole lists in ``$set``), Qwen Code
(``message.parts``), Cursor (``role``, ``message.content``), VS Code (``user.message``, ``data.content``). What a
program writes into the texts is known to ``base/capture/host_formats.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engram_py.base.capture.acts import clean
from engram_py.base.capture.host_formats import ASIDE, is_flagged, is_typed, typed
from engram_py.memory.sessions.values import Role, Turn

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


def turns_of_line(line: bytes | str, position: int = 0) -> list[Turn]:
    """Return the turns that one line of a transcript holds: one, a list of them, or none.

    Raises ValueError, RecursionError: it is no JSON.
    """
    records = _records(json.loads(line)) if line.strip() else []
    return [turn for record in records if (turn := _turn(record, position))]


def turns_of_document(text: bytes | str) -> list[Turn]:
    """Return the turns of a transcript that is one JSON document with its ``messages``; none of anything else."""
    value = _loaded(text)
    messages = value.get("messages") if isinstance(value, dict) else None
    records = messages if isinstance(messages, list) else []
    found = (_turn(one, at) for at, one in enumerate(records) if isinstance(one, dict))
    return [turn for turn in found if turn]


def names_user(text: bytes | str) -> bool:
    """Return whether a line or a document holds words in the place of the user's, whoever wrote them."""
    value = _loaded(text)
    records = [*_records(value), *(value.get("messages") or () if isinstance(value, dict) else ())]
    found = (_spoken(one) for one in records if isinstance(one, dict))
    return any(role == "user" and text_of(record) for record, role in found)


def _loaded(text: bytes | str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _records(value: Any) -> list[dict[str, Any]]:
    """Return the messages of a line. Gemini writes a conversation again whole: ``{"$set": {"messages": […]}}``."""
    if not isinstance(value, dict):
        return []
    given = value.get("$set")
    listed = given.get("messages") if isinstance(given, dict) else [value]
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def spoken(role: Role, text: str) -> Turn | None:
    """Return the turn of a text that comes without a transcript; its words are its name."""
    text = clean(text).strip()
    return Turn(role, text, digest(role, "", text)) if text else None


def role_of(name: object) -> Role | None:
    """Return who speaks, by the name a program gives them; None for a tool, a system, and names nobody knows."""
    return _ROLES.get(name.lower()) if isinstance(name, str) else None


def text_of(content: object) -> str:
    """Return the words of a message as they can be stored; "" of one that has none."""
    return clean("\n".join(_texts(content))).strip()


def digest(*parts: str) -> str:
    """Return a short name for these texts together."""
    import hashlib

    joined = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.sha256(joined).hexdigest()[:32]


def _turn(value: dict[str, Any], position: int) -> Turn | None:
    record, role = _spoken(value)
    if role is None or is_flagged(value) or (role == "user" and not is_typed(value)):
        return None
    text = typed(text_of(record)) if role == "user" else text_of(record)
    if not text:
        return None
    aside = next((name for name in ASIDE if value.get(name) is True), "")
    said_at = _text_at(value, "timestamp")
    key = _key(value) or digest(role, said_at, text)
    return Turn(
        role=role,
        content=text,
        key=clean(key)[:_KEY_LIMIT_CHARS],
        position=position,
        agent=clean(_text_at(value, "agentId") or aside)[:_KEY_LIMIT_CHARS],
        said_at=clean(said_at)[:40] or None,
    )


def _key(value: dict[str, Any]) -> str:
    """Return the id that the program gave a record; a record that a fork copied keeps the id of the original."""
    payload, forked = value.get("payload"), value.get("forkedFrom")
    item = payload.get("item") if isinstance(payload, dict) else None
    if value.get("type") == "response_item":
        item = payload
    named = ((forked, "messageUuid"), (value, "uuid"), (value, "id"), (item, "id"))
    return next((name for one, part in named if isinstance(one, dict) and (name := _text_at(one, part))), "")


def _spoken(value: dict[str, Any]) -> tuple[Any, Role | None]:
    """Return the part of a record that holds the words, and who spoke them."""
    kind, payload = value.get("type"), value.get("payload")
    if isinstance(payload, dict):
        inner = payload.get("type")
        # What a person typed is told by its event: the protocol's own user items hold injected texts as well.
        if kind == "event_msg" and inner == "user_message":
            return payload.get("message"), "user"
        item = payload.get("item")
        if kind == "event_msg" and isinstance(item, dict) and item.get("type") == "UserMessage":
            return item.get("content"), "user" if inner == "item_completed" else None
        if kind == "response_item" and inner == "message" and payload.get("role") == "assistant":
            return payload.get("content"), "assistant"
        return None, None
    message, data = value.get("message"), value.get("data")
    if isinstance(data, dict) and isinstance(kind, str) and kind in _ROLES:
        return data.get("content"), _ROLES[kind]
    if isinstance(message, dict):
        role = role_of(message.get("role")) or role_of(value.get("role")) or role_of(kind)
        return message.get("content", message.get("parts")), role
    said = value.get("displayContent") or value.get("content", value.get("parts"))
    return said, role_of(value.get("role")) or role_of(kind)


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
