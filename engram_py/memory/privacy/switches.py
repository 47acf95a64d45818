"""The user's switches for what hooks record and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import ConflictError, InvalidArgumentError
from engram_py.base.reasons import Reason, operation, reason, sentence
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import normalize_project

_CHOICES = """
select scope, switch, is_on from switches where scope = 'all'
   or (scope = 'project' and name = :project)
   or (scope = 'session' and name = :session)
"""


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


class Switches:
    """Answers what is allowed and stores the user's choices.

    The most specific choice decides: a variable of the environment, the session, the project, then everything. A
    project's ``.engram.json``, which may come with a clone, can switch off what nobody switched on for that project.
    """

    def __init__(self, core: Core) -> None:
        self._store, self._projects, self._settings = core.store, core.projects, core.settings

    def allowed(self, project: str, session_id: str = "") -> Allowed:
        """Return what hooks may do in a session of a project."""
        rows = self._store.rows(_CHOICES, project=project, session=session_id)
        chosen = {(row["scope"], row["switch"]): bool(row["is_on"]) for row in rows}
        return Allowed(**{switch: self._is_on(switch, chosen) for switch in SWITCHES})

    def check_recording(self, project: str, session_id: str) -> None:
        """Raise ConflictError (recording_off) where nothing of a conversation is to be kept."""
        if not self.allowed(project, session_id).records:
            raise ConflictError(
                f"recording is off in {project or 'this folder'}: nothing was kept",
                hint=sentence(
                    "the user switched it off; `engram on --record` switches it on, and ",
                    operation("save"),
                    " works anyway",
                ),
                code="recording_off",
            )

    def note(self, project: str, session_id: str) -> tuple[Reason, ...]:
        """Return the warning of an explicit save where recording is off."""
        allowed = self.allowed(project, session_id)
        if allowed.records:
            return ()
        return (reason("recording_off", project=project, enabled=allowed.enabled),)

    def turn(
        self, switches: Sequence[str], *, on: bool, project: str | None = None, session_id: str | None = None
    ) -> SwitchState:
        """Switch on or off, for a session, a project, or everything where neither is named.

        Raises InvalidArgumentError, InvalidProjectError.
        """
        from engram_py.base.capture.session_id import clean_session_id

        if project and session_id:
            said = "session and project do not go together"
            raise InvalidArgumentError("session", said=said, step="give one of them")
        scope, name = "all", ""
        if project:
            scope, name = "project", self._projects.for_read(normalize_project(project)).project
        elif session_id:
            scope, name = "session", clean_session_id(session_id)
        with self._store.transaction():
            for switch in switches:
                values = {"scope": scope, "name": name, "switch": switch, "is_on": int(on)}
                self._store.insert("switches", values, replace=True)
        return self.state(session_id)

    def state(self, session_id: str | None = None) -> SwitchState:
        """Return what is allowed here, and every choice that was made."""
        project = self._projects.for_read(session_id=session_id, head=False).project
        rows = self._store.rows("select scope, name, switch, is_on from switches order by scope, name, switch")
        choices = tuple(Choice(row["scope"], row["name"], row["switch"], bool(row["is_on"])) for row in rows)
        forced = {switch: on for switch in SWITCHES if (on := self._settings.by_variable(switch)) is not None}
        return SwitchState(project, self.allowed(project, session_id or ""), choices, forced)

    def _is_on(self, switch: str, chosen: dict[tuple[str, str], bool]) -> bool:
        narrow = [chosen.get((scope, switch)) for scope in ("session", "project")]
        for choice in (self._settings.by_variable(switch), *narrow):
            if choice is not None:
                return choice
        everywhere = chosen.get(("all", switch), getattr(self._settings, switch))
        return everywhere and bool(getattr(self._projects.preferences(), switch))
