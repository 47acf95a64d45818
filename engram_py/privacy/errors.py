"""Refusals of what the user switched off, and of trust in nobody."""

from __future__ import annotations

from engram_py.doors import call
from engram_py.errors import ConflictError, NotFoundError


class RecordingOffError(ConflictError):
    code = "recording_off"

    def __init__(self, project: str) -> None:
        self.project = project
        super().__init__(
            f"recording is off in {project or 'this folder'}: nothing was kept",
            hint=f"the user switched it off; `engram on --record` switches it on, and {call('save')} works anyway",
        )


class NoArrivalError(NotFoundError):
    code = "arrival_not_found"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"Nothing here came from {what}", hint="`engram trust` lists where memories came from")
