"""Documents: search them, open them, list their collections and bring these up to date."""

from __future__ import annotations

import time

from pydantic import Field

from engram_py.app import Engram
from engram_py.documents.values import Collection
from engram_py.interfaces.http.request_project import CwdQuery, PlaceQuery, ProjectBody
from engram_py.interfaces.http.response_models import shown
from engram_py.interfaces.http.routing import Most, Needed, operation
from engram_py.interfaces.wording import render

_UPDATE_SECONDS = 60.0


class DocumentQuery(PlaceQuery):
    name: Needed = Field(description="path:line:count, commit:1a2b3c4, a docid; a glob, several with commas.")
    line: Most = Field(default=None, description="The first line; wins over that of the name.")
    count: Most = Field(default=None, description="How many lines, at most 400.")


class DocumentSearchQuery(PlaceQuery):
    q: Needed = Field(description="Words or a question.")
    collection: str | None = Field(default=None, description="Only this one, excluded or not.")
    limit: Most = Field(default=None, description="Most results, 1 to 20; default 10.")


class CollectionUpdateBody(ProjectBody):
    collection: str | None = Field(default=None, description="Only this one; default: all that are included.")


CollectionOut = shown(
    Collection,
    "name project kind root globs contexts included documents updated_at",
    updated_at=str | None,
)


@operation("GET", "/documents", errors=(404, 409))
def open_document(app: Engram, query: DocumentQuery) -> object:
    """The lines of a document as it is now; of several names what could be opened, and what not."""
    return render.to_json(app.documents.open(query.name, first=query.line, count=query.count, **query.where))


@operation("GET", "/documents/search", errors=(404, 409))
def search_documents(app: Engram, query: DocumentSearchQuery) -> object:
    """Passages of documents, best first, one of each document."""
    found = app.documents.search(query.q, collection=query.collection, limit=query.limit or 10, **query.where)
    return render.to_json(found)


@operation("GET", "/collections", [CollectionOut], errors=(409,))
def list_collections(app: Engram, query: PlaceQuery) -> object:
    """The collections of the project."""
    return app.documents.collections(**query.where).items


@operation("POST", "/collections/update", errors=(404, 409))
def update_collections(app: Engram, query: CwdQuery, body: CollectionUpdateBody) -> object:
    """Index what changed since the last time; an update that needs more than a minute says unfinished."""
    until = time.monotonic() + _UPDATE_SECONDS
    return render.to_json(app.documents.update(body.collection, project=body.project, until=until))
