"""Checkpoints: the state of an agent, kept and given back."""

from __future__ import annotations

import base64
import binascii

from pydantic import Field

from engram_py.app import Engram
from engram_py.checkpoints.values import Checkpoint
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routing import Answer, Body, Most, Path, Time, operation


class CheckpointBody(Body):
    content: str | None = Field(default=None, description="Its text.")
    content_base64: str | None = Field(default=None, description="Its bytes, where they are no text.")
    session_id: str | None = None
    project: str | None = None


class CheckpointsQuery(CwdQuery):
    session_id: str | None = None
    project: str | None = None
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

    @classmethod
    def loaded(cls, value: Checkpoint) -> CheckpointOut:
        is_text = value.encoding == "utf-8"
        content = {"content": value.content if is_text else None, "content_base64": None if is_text else value.content}
        return cls.of(value, **content)


@operation("POST", "/checkpoints", status=201, errors=(409,))
def save_checkpoint(app: Engram, query: CwdQuery, body: CheckpointBody) -> CheckpointSavedOut:
    """Keep `content` or `content_base64` as the latest checkpoint of a session, at most a mebibyte."""
    return CheckpointSavedOut.of(
        app.checkpoints.save(_bytes(body), project=body.project or None, session_id=body.session_id)
    )


@operation("GET", "/checkpoints", errors=(409,))
def list_checkpoints(app: Engram, query: CheckpointsQuery) -> list[CheckpointLineOut]:
    """The checkpoints of a session or a project, the latest first."""
    found = app.checkpoints.listed(session_id=query.session_id, project=query.project or None, limit=query.limit or 20)
    return [CheckpointLineOut.of(one) for one in found.items]


@operation("GET", "/checkpoints/{session_id}", errors=(404,))
def load_checkpoint(app: Engram, path: CheckpointPath) -> CheckpointOut:
    """The latest checkpoint of a session."""
    return CheckpointOut.loaded(app.checkpoints.load(session_id=path.session_id))


def _bytes(body: CheckpointBody) -> bytes:
    if body.content_base64 is None:
        return (body.content or "").encode()
    if body.content is not None:
        raise InvalidArgumentError("content_base64", "given", expected="left out when content is given")
    try:
        return base64.b64decode(body.content_base64, validate=True)
    except (binascii.Error, ValueError) as exc:
        raise InvalidArgumentError("content_base64", body.content_base64, expected="base64") from exc
