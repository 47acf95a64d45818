"""What is known of the person: statements that hold always, and the profile."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.identity.values import Profile, Statement
from engram_py.interfaces.http.request_project import CwdQuery, PlaceBody, PlaceQuery
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routes_observations import DeletedOut
from engram_py.interfaces.http.routing import Needed, Path, operation
from engram_py.observations.values import Saved

SCOPE = "personal (every project, the default) or project."


class StatementBody(PlaceBody):
    text: Needed
    scope: str | None = Field(default=None, description=SCOPE)


class IdentityQuery(PlaceQuery):
    scope: str | None = Field(default=None, description=SCOPE)


class StatementPath(Path):
    what: str = Field(description="Its id or its text.")


StatementOut = shown(Statement, "id text scope project origin said_at")
StatementSavedOut = shown(
    Saved,
    "id outcome scope project warnings",
    "`outcome` is added, updated (the profile), or duplicate: it is said already, perhaps in another spelling.",
    name="StatementSavedOut",
)
ProfileOut = shown(
    Profile,
    "id text scope project origin written_at",
    "`text` is empty where there is none; `origin` derived is written by upkeep.",
)


@operation("GET", "/identity", [StatementOut], errors=(409,))
def list_identity(app: Engram, query: IdentityQuery) -> object:
    """What holds of the user always, everywhere first, then in this project."""
    return app.identity.listed(**query.where).items


@operation("POST", "/identity", StatementSavedOut, status=201, errors=(409,))
def add_identity(app: Engram, query: CwdQuery, body: StatementBody) -> object:
    """Keep a sentence that every context begins with; said twice, it is kept once."""
    return app.identity.add(body.text, **body.where)


@operation("DELETE", "/identity/{what}", DeletedOut, errors=(404, 409))
def remove_identity(app: Engram, path: StatementPath, query: IdentityQuery) -> object:
    """Hide a statement, by its id or its text."""
    removed = app.identity.remove(path.what, project=query.project)
    return DeletedOut(id=removed.id, status="deleted", hard_delete=False)


@operation("GET", "/identity/profile", ProfileOut, errors=(409,))
def read_profile(app: Engram, query: IdentityQuery) -> object:
    """The user in a few lines, or with scope project how to work with them there."""
    return app.identity.profile(**query.where)


@operation("PUT", "/identity/profile", StatementSavedOut, errors=(409,))
def write_profile(app: Engram, query: CwdQuery, body: StatementBody) -> object:
    """Write the profile anew. Upkeep leaves what was written alone."""
    return app.identity.write_profile(body.text, **body.where)
