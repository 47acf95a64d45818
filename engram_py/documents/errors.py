"""Refusals of documents and collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.doors import call
from engram_py.errors import ConflictError, InvalidInputError, NotFoundError


class DocumentNotFoundError(NotFoundError):
    code = "document_not_found"

    def __init__(self, name: str, near: Sequence[str] = (), *, ignored: str = "") -> None:
        self.name, self.near = name[:200], list(near)
        why = f": {ignored}" if ignored else ""
        hint = f"did you mean {', '.join(near)}?" if near else f"{call('search')} finds documents by their words"
        super().__init__(f"no document {self.name!r}{why}", hint=hint)

    def details(self) -> dict[str, Any]:
        return super().details() | {"found": False, "suggestions": self.near}


class CollectionNotFoundError(NotFoundError):
    code = "collection_not_found"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        self.name, self.known = name[:200], list(known)
        hint = f"there are {', '.join(known)}" if known else "`engram collection update` makes git and docs"
        super().__init__(f"no collection {self.name!r} here", hint=hint)


class CollectionExistsError(ConflictError):
    code = "collection_exists"

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"there is a collection {name!r} already", hint="give another --name, or remove it with `collection remove`"
        )


class NotAFolderError(InvalidInputError):
    code = "not_a_folder"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path!r} is no folder or file that can be read", hint="give an existing folder or file")
