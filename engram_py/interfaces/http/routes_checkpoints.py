"""Checkpoints: the state of an agent, kept and given back."""

from __future__ import annotations

import base64
import binascii

from pydantic import Field

from engram_py.app import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery, PlaceBody, PlaceQuery
from engram_py.interfaces.http.routing import Answer, Most, Path, Time, operation


class CheckpointBody(PlaceBody):
    content: str | None = Field(default=None, description="Its text.")
    content_base64: str | None = Field(default=None, description="Its bytes, where they are no text.")


class CheckpointsQuery(PlaceQuery):
    session_id: str | None = None
    limit: Most = Field(default=None, description="Most checkpoints; default 20.")


class CheckpointPath(Path):
    session_id: str


class CheckpointLineOut(Answer):
    id: int
    session_id: str
    project: str
    size: int
    saved_at: Time


class CheckpointSavedOut(CheckpointLineOut):
    redacted: int
    warnings: list[str]


class CheckpointOut(CheckpointLineOut):
    """Its text, or where it is none its bytes as base64."""

    content: str | None = None
    content_base64: str | None = None


@operation("POST", "/checkpoints", CheckpointSavedOut, status=201, errors=(409,))
def save_checkpoint(app: Engram, query: CwdQuery, body: CheckpointBody) -> object:
    """Keep `content` or `content_base64` as the latest checkpoint of a session, at most a mebibyte."""
    return app.checkpoints.save(_bytes(body), **body.where)


@operation("GET", "/checkpoints", [CheckpointLineOut], errors=(409,))
def list_checkpoints(app: Engram, query: CheckpointsQuery) -> object:
    """The checkpoints of a session or a project, the latest first."""
    return app.checkpoints.listed(limit=query.limit or 20, **query.where).items


@operation("GET", "/checkpoints/{session_id}", CheckpointOut, errors=(404,))
def load_checkpoint(app: Engram, path: CheckpointPath) -> object:
    """The latest checkpoint of a session."""
    found = app.checkpoints.load(session_id=path.session_id)
    return CheckpointOut.of(found, **{"content" if found.encoding == "utf-8" else "content_base64": found.content})


def _bytes(body: CheckpointBody) -> bytes:
    if body.content_base64 is None:
        return (body.content or "").encode()
    if body.content is not None:
        raise InvalidArgumentError("content_base64", "given", expected="left out when content is given")
    try:
        return base64.b64decode(body.content_base64, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise InvalidArgumentError("content_base64", body.content_base64, expected="base64") from exc
