"""Refusals of a search and of the user's own retrieval tests."""

from __future__ import annotations

from engram_py.errors import NotFoundError


class QuestionNotFoundError(NotFoundError):
    code = "question_not_found"

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"no question {number}", hint="list them with `engram eval list`")
