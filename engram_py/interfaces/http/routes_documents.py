"""Documents: search them, open them, list their collections and bring these up to date."""

from __future__ import annotations

import time
from typing import Any

from pydantic import Field

from engram_py.app import Engram
from engram_py.interfaces.http.request_project import CwdQuery
from engram_py.interfaces.http.routes_sessions import needed
from engram_py.interfaces.http.routing import Answer, Body, Most, operation
from engram_py.interfaces.wording import render

_UPDATE_SECONDS = 60.0


class DocumentQuery(CwdQuery):
    NEEDS = ("name",)

    name: str = Field(default="", description="path:line:count, commit:1a2b3c4, a docid; a glob, several with commas.")
    line: Most = Field(default=None, description="The first line; wins over that of the name.")
    count: Most = Field(default=None, description="How many lines, at most 400.")
    project: str | None = None


class DocumentSearchQuery(CwdQuery):
    NEEDS = ("q",)

    q: str = Field(default="", description="Words or a question.")
    collection: str | None = Field(default=None, description="Only this one, excluded or not.")
    limit: Most = Field(default=None, description="Most results, 1 to 20; default 10.")
    project: str | None = None


class CollectionsQuery(CwdQuery):
    project: str | None = None


class UpdateBody(Body):
    collection: str | None = Field(default=None, description="Only this one; default: all that are included.")
    project: str | None = None


class CollectionOut(Answer):
    name: str
    project: str
    kind: str
    root: str
    globs: list[str]
    contexts: dict[str, str]
    included: bool
    documents: int
    updated_at: str | None


@operation("GET", "/documents", errors=(404, 409))
def open_document(app: Engram, query: DocumentQuery) -> dict[str, Any]:
    """The lines of a document as it is now; of several names what could be opened, and what not."""
    name = needed("name", query.name)
    values: dict[str, Any] = render.to_json(
        app.documents.open(name, first=query.line, count=query.count, project=query.project or None)
    )
    return values


@operation("GET", "/documents/search", errors=(404, 409))
def search_documents(app: Engram, query: DocumentSearchQuery) -> dict[str, Any]:
    """Passages of documents, best first, one of each document."""
    found = app.documents.search(
        needed("q", query.q), collection=query.collection, limit=query.limit or 10, project=query.project or None
    )
    values: dict[str, Any] = render.to_json(found)
    return values


@operation("GET", "/collections", errors=(409,))
def list_collections(app: Engram, query: CollectionsQuery) -> list[CollectionOut]:
    """The collections of the project."""
    found = app.documents.collections(project=query.project or None).items
    return [CollectionOut.of(one) for one in found]


@operation("POST", "/collections/update", errors=(404, 409))
def update_collections(app: Engram, query: CwdQuery, body: UpdateBody) -> dict[str, Any]:
    """Index what changed since the last time; an update that needs more than a minute says unfinished."""
    until = time.monotonic() + _UPDATE_SECONDS
    done = app.documents.update(body.collection, project=body.project or None, until=until)
    values: dict[str, Any] = render.to_json(done)
    return values
