"""Values of switches and clearing: what hooks may do, the choices that decide it, what `engram clear` destroyed."""

from __future__ import annotations

from collections.abc import Mapping

from engram_py.dataclass import dataclass
from engram_py.errors import ConflictError, NotFoundError
from engram_py.reasons import operation, sentence


class RecordingOffError(ConflictError):
    code = "recording_off"

    def __init__(self, project: str) -> None:
        self.project = project
        super().__init__(
            f"recording is off in {project or 'this folder'}: nothing was kept",
            hint=sentence(
                "the user switched it off; `engram on --record` switches it on, and ",
                operation("save"),
                " works anyway",
            ),
        )


class NoArrivalError(NotFoundError):
    code = "arrival_not_found"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"Nothing here came from {what}", hint="`engram trust` lists where memories came from")


SWITCHES = ("enabled", "record", "inject")


@dataclass(frozen=True, slots=True)
class Allowed:
    """The permissions of hooks: ``record`` keeps prompts, turns and learnings, ``inject`` gives memory to the agent.

    ``enabled`` off is both off, and more: hooks do nothing at all.
    """

    enabled: bool = True
    record: bool = True
    inject: bool = True

    @property
    def records(self) -> bool:
        return self.enabled and self.record

    @property
    def injects(self) -> bool:
        return self.enabled and self.inject


@dataclass(frozen=True, slots=True)
class Choice:
    """One switch that somebody turned: for ``all``, a ``project`` or a ``session``, which ``name`` names."""

    scope: str
    name: str
    switch: str
    on: bool


@dataclass(frozen=True, slots=True)
class SwitchState:
    """The permissions of hooks here, with the choices that decide them."""

    project: str
    allowed: Allowed
    choices: tuple[Choice, ...]
    environment: Mapping[str, bool]


@dataclass(frozen=True, slots=True)
class Cleared:
    """The scope of a destruction: ``turns``, a ``project``, or ``everything``, with the number of rows of each kind.

    ``backups`` is the folder whose ``copies`` hold it still.
    """

    what: str
    project: str | None
    session_id: str | None
    counts: Mapping[str, int]
    everywhere: bool
    backups: str
    copies: int
