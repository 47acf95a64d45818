"""The layers above observations: facts about entities."""

from __future__ import annotations

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routes_sessions import needed
from engram_py.interfaces.http.routing import Answer, Body, Time, operation


class FactBody(Body):
    NEEDS = ("entity", "text")

    entity: str | None = None
    text: str | None = None
    validate_: bool | None = Field(default=None, alias="validate", description="false keeps it unchecked.")
    scope: str | None = None
    project: str | None = None
    session_id: str | None = None


class FactsQuery(CwdQuery):
    entity: str | None = Field(default=None, description="Its name or slug.")
    past: bool = Field(default=False, description="Those that were replaced as well.")
    scope: str | None = None
    project: str | None = None


class ReplacedOut(Answer):
    id: int | None
    title: str


class FactSavedOut(Answer):
    """`outcome` is added, deduped (an older fact says it, by `likeness`) or superseded (it replaces older ones)."""

    id: int
    outcome: str
    about: str | None
    title: str
    project: str
    likeness: float | None = None
    replaced: list[ReplacedOut]
    warnings: list[str]


class FactOut(Answer):
    id: int
    about: str
    text: str
    said_at: Time
    past: bool


@operation("POST", "/facts", status=201, errors=(409,))
def save_fact(app: Engram, query: CwdQuery, body: FactBody) -> FactSavedOut:
    """Keep a sentence about an entity. A new value replaces the old one; too short or passing is refused."""
    saved = app.facts.add(
        needed("entity", body.entity),
        needed("text", body.text),
        checked=body.validate_ is not False,
        scope=body.scope,
        project=body.project or None,
        session_id=body.session_id,
    )
    return FactSavedOut.of(saved)


@operation("GET", "/facts", errors=(409,))
def list_facts(app: Engram, query: FactsQuery) -> list[FactOut]:
    """The facts about an entity, latest change first."""
    found = app.facts.of(
        needed("entity", query.entity), past=query.past, scope=query.scope, project=query.project or None
    )
    return [FactOut.of(one) for one in found.items]
