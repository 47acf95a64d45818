"""Routes of checkpoints: the state of an agent, kept and given back."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.answers import shown
from engram_py.interfaces.http.parameters import InSession, Most
from engram_py.interfaces.http.routing import operation
from engram_py.sessions.values import Checkpoint, CheckpointLine

_LINE = "id session_id project size saved_at"
CheckpointOut = shown(
    Checkpoint, f"{_LINE} content content_base64", content=str | None, content_base64=str | None
)  # its bytes as base64 where they are no text


@operation("POST", "/checkpoints", CheckpointLine, status=201, errors=(409,))
def save_checkpoint(
    app: Engram,
    place: InSession,
    content: Annotated[str | None, Field(description="Its text.")] = None,
    content_base64: Annotated[str | None, Field(description="Its bytes, where they are no text.")] = None,
) -> object:
    """Keep `content` or `content_base64` as the latest checkpoint of a session, at most a mebibyte."""
    return app.checkpoints.save(_bytes(content, content_base64), **place.where)


@operation("GET", "/checkpoints", [shown(CheckpointLine, _LINE, name="CheckpointListedOut")], errors=(409,))
def list_checkpoints(
    app: Engram,
    place: InSession,
    limit: Annotated[Most, Field(description="Most checkpoints; default 20.")] = None,
) -> object:
    """The checkpoints of a session or a project, the latest first."""
    return app.checkpoints.listed(limit=limit or 20, **place.where).items


@operation("GET", "/checkpoints/{session_id}", CheckpointOut, errors=(404,))
def load_checkpoint(app: Engram, session_id: str) -> object:
    """The latest checkpoint of a session."""
    found = app.checkpoints.load(session_id=session_id)
    text = found.encoding == "utf-8"
    return CheckpointOut.of(
        found, content=found.content if text else None, content_base64=None if text else found.content
    )


def _bytes(content: str | None, content_base64: str | None) -> bytes:
    if content_base64 is None:
        return (content or "").encode()
    if content is not None:
        raise InvalidArgumentError("content_base64", "given", expected="left out when content is given")
    try:
        return base64.b64decode(content_base64, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise InvalidArgumentError("content_base64", content_base64, expected="base64") from exc
