"""Routes of documents: search them, open them, list their collections and bring these up to date."""

from __future__ import annotations

import time
from typing import Annotated

from pydantic import Field

from engram_py.app import Engram
from engram_py.documents.values import Collection
from engram_py.interfaces.http.answers import shown
from engram_py.interfaces.http.parameters import InProject, Most, Needed
from engram_py.interfaces.http.routing import operation
from engram_py.interfaces.wording import render

_UPDATE_SECONDS = 60.0

CollectionOut = shown(
    Collection, "name project kind root globs contexts included documents updated_at", updated_at=str | None
)


@operation("GET", "/documents", errors=(404, 409))
def open_document(
    app: Engram,
    place: InProject,
    name: Annotated[
        Needed, Field(description="path:line:count, commit:1a2b3c4, a docid; a glob, several with commas.")
    ],
    line: Annotated[Most, Field(description="The first line; wins over that of the name.")] = None,
    count: Annotated[Most, Field(description="How many lines, at most 400.")] = None,
) -> object:
    """The lines of a document as it is now; of several names what could be opened, and what not."""
    return render.to_json(app.documents.open(name, first=line, count=count, **place.where))


@operation("GET", "/documents/search", errors=(404, 409))
def search_documents(
    app: Engram,
    place: InProject,
    q: Annotated[Needed, Field(description="Words or a question.")],
    collection: Annotated[str | None, Field(description="Only this one, excluded or not.")] = None,
    limit: Annotated[Most, Field(description="Most results, 1 to 20; default 10.")] = None,
) -> object:
    """Passages of documents, best first, one of each document."""
    return render.to_json(app.documents.search(q, collection=collection, limit=limit or 10, **place.where))


@operation("GET", "/collections", [CollectionOut], errors=(409,))
def list_collections(app: Engram, place: InProject) -> object:
    """The collections of the project."""
    return app.documents.collections(**place.where).items


@operation("POST", "/collections/update", errors=(404, 409))
def update_collections(
    app: Engram,
    place: InProject,
    collection: Annotated[str | None, Field(description="Only this one; default: all that are included.")] = None,
) -> object:
    """Index what changed since the last time; an update that needs more than a minute says unfinished."""
    until = time.monotonic() + _UPDATE_SECONDS
    return render.to_json(app.documents.update(collection, until=until, **place.where))
