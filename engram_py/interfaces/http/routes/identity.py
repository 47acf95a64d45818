"""Routes of what is known of the person: statements that hold always, and the profile."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.identity.values import Profile, Statement
from engram_py.interfaces.http.answers import DeletedOut, shown
from engram_py.interfaces.http.parameters import InProject, InSession, Needed
from engram_py.interfaces.http.routing import operation
from engram_py.observations.values import Saved

Scope = Annotated[str | None, Field(description="personal (every project, the default) or project.")]

StatementSavedOut = shown(Saved, "id outcome scope project warnings", name="StatementSavedOut")
ProfileOut = shown(Profile, "id text scope project origin written_at")


@operation("GET", "/identity", [Statement], errors=(409,))
def list_identity(app: Engram, place: InProject, scope: Scope = None) -> object:
    """What holds of the user always, everywhere first, then in this project."""
    return app.identity.listed(scope=scope, **place.where).items


@operation("POST", "/identity", StatementSavedOut, status=201, errors=(409,))
def add_identity(app: Engram, place: InSession, text: Needed, scope: Scope = None) -> object:
    """Keep a sentence that every context begins with; said twice, it is kept once."""
    return app.identity.add(text, scope=scope, **place.where)


@operation("DELETE", "/identity/{what}", DeletedOut, errors=(404, 409))
def remove_identity(
    app: Engram, what: Annotated[str, Field(description="Its id or its text.")], place: InProject, scope: Scope = None
) -> object:
    """Hide a statement, by its id or its text."""
    return DeletedOut(id=app.identity.remove(what, **place.where).id, status="deleted", hard_delete=False)


@operation("GET", "/identity/profile", ProfileOut, errors=(409,))
def read_profile(app: Engram, place: InProject, scope: Scope = None) -> object:
    """The user in a few lines, or with scope project how to work with them there."""
    return app.identity.profile(scope=scope, **place.where)


@operation("PUT", "/identity/profile", StatementSavedOut, errors=(409,))
def write_profile(app: Engram, place: InSession, text: Needed, scope: Scope = None) -> object:
    """Write the profile anew. Upkeep leaves what was written alone."""
    return app.identity.write_profile(text, scope=scope, **place.where)
