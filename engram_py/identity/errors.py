"""Refusals of removing a statement."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.doors import call
from engram_py.errors import ConflictError, NotFoundError
from engram_py.identity.values import Statement

_SHOWN_CHARS = 80


class StatementNotFoundError(NotFoundError):
    code = "statement_not_found"

    def __init__(self, said: str, *, kind: str = "") -> None:
        self.said = said[:_SHOWN_CHARS]
        what = f"{self.said} is a {kind}" if kind else f"nothing like {self.said!r} is kept about the user"
        super().__init__(f"{what}; nothing was removed", hint=f"{call('identity')} lists what can be")


class SeveralStatementsError(ConflictError):
    code = "several_statements"

    def __init__(self, said: str, found: Sequence[Statement]) -> None:
        self.said = said[:_SHOWN_CHARS]
        named = "; ".join(f"[#{one.id}] {one.text[:_SHOWN_CHARS]}" for one in found[:5])
        super().__init__(f"{self.said!r} is in several: {named}", hint="give the id of one. Nothing was removed")
