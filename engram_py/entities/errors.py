"""Refusals of the entities."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.errors import InvalidInputError, NotFoundError


class EntityNotFoundError(NotFoundError):
    code = "entity_not_found"

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        self.name, self.near = name[:80], list(near)
        hint = f"similar: {', '.join(near)}" if near else "`engram entity list` shows those that are known"
        super().__init__(f"no entity {self.name!r} here", hint=hint)


class EntityRefusedError(InvalidInputError):
    code = "entity_refused"

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason, hint=hint)
