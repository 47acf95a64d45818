"""What is known of the person: statements that hold always, and the profile."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routes_observations import DeletedOut
from engram_py.interfaces.http.routes_sessions import needed
from engram_py.interfaces.http.routing import Answer, Body, MaybeTime, Path, Time, operation

SCOPE = "personal (every project, the default) or project."


class StatementBody(Body):
    NEEDS = ("text",)

    text: str | None = None
    scope: str | None = Field(default=None, description=SCOPE)
    project: str | None = None
    session_id: str | None = None


class IdentityQuery(CwdQuery):
    scope: str | None = Field(default=None, description=SCOPE)
    project: str | None = None


class StatementPath(Path):
    what: str = Field(description="Its id or its text.")


class StatementOut(Answer):
    id: int
    text: str
    scope: str
    project: str
    origin: str
    said_at: Time


class StatementSavedOut(Answer):
    """`outcome` is added, updated (the profile), or duplicate: it is said already, perhaps in another spelling."""

    id: int
    outcome: str
    scope: str
    project: str
    warnings: list[str]


class ProfileOut(Answer):
    """`text` is empty where there is none; `origin` derived is written by upkeep."""

    id: int | None = None
    text: str
    scope: str
    project: str
    origin: str
    written_at: MaybeTime = None


@operation("GET", "/identity", errors=(409,))
def list_identity(app: Engram, query: IdentityQuery) -> list[StatementOut]:
    """What holds of the user always, everywhere first, then in this project."""
    found = app.identity.listed(scope=query.scope, project=query.project or None)
    return [StatementOut.of(one) for one in found.items]


@operation("POST", "/identity", status=201, errors=(409,))
def add_identity(app: Engram, query: CwdQuery, body: StatementBody) -> StatementSavedOut:
    """Keep a sentence that every context begins with; said twice, it is kept once."""
    saved = app.identity.add(
        needed("text", body.text), scope=body.scope, project=body.project or None, session_id=body.session_id
    )
    return StatementSavedOut.of(saved)


@operation("DELETE", "/identity/{what}", errors=(404, 409))
def remove_identity(app: Engram, path: StatementPath, query: IdentityQuery) -> DeletedOut:
    """Hide a statement, by its id or its text."""
    removed = app.identity.remove(path.what, project=query.project or None)
    return DeletedOut(id=removed.id, status="deleted", hard_delete=False)


@operation("GET", "/identity/profile", errors=(409,))
def read_profile(app: Engram, query: IdentityQuery) -> ProfileOut:
    """The user in a few lines, or with scope project how to work with them there."""
    return ProfileOut.of(app.identity.profile(scope=query.scope, project=query.project or None))


@operation("PUT", "/identity/profile", errors=(409,))
def write_profile(app: Engram, query: CwdQuery, body: StatementBody) -> StatementSavedOut:
    """Write the profile anew. Upkeep leaves what was written alone."""
    saved = app.identity.write_profile(
        needed("text", body.text), scope=body.scope, project=body.project or None, session_id=body.session_id
    )
    return StatementSavedOut.of(saved)
