"""The parameters of routes: types that read what Engram's clients send, and which project and session is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.errors import InvalidArgumentError
from engram_py.files import expanded
from engram_py.projects.errors import AmbiguousProjectError, InvalidProjectError

MAX_INTEGER = 2**63 - 1
MOST_PATH_CHARS = 4_096


class Path(BaseModel):
    """The variable parts of a path."""

    model_config = ConfigDict(extra="forbid")


class Query(BaseModel):
    """The part of an address after ``?``. Unknown names are ignored and noted."""

    model_config = ConfigDict(extra="ignore")

    cwd: str | None = Field(default=None, description="Directory that decides the project; default: the server's.")


class Body(BaseModel):
    """A JSON object. Its types are strict: ``"7"`` is text. Unknown names are ignored and noted, null is left out."""

    model_config = ConfigDict(extra="ignore", strict=True)


class ExactBody(Body):
    """One that has the names it must have and no other."""

    model_config = ConfigDict(extra="forbid")


def _whole(value: object) -> object:
    """Return an integer, None for anything else: Engram takes its own default then."""
    try:
        number = int(str(value)) if len(str(value)) <= 20 else None
    except ValueError:
        return None
    return None if number is None else max(-MAX_INTEGER, min(MAX_INTEGER, number))


def _most(value: object) -> object:
    number = _whole(value)
    return number if isinstance(number, int) and number > 0 else None


def _start(value: object) -> object:
    number = _whole(value)
    return number if isinstance(number, int) and number >= 0 else None


_TRUE, _FALSE = ("1", "t", "T", "true", "True", "TRUE"), ("0", "f", "F", "false", "False", "FALSE")


def _switch(value: object) -> object:
    return True if value in _TRUE else False if value in _FALSE or value is None else None


def _strict_switch(value: object) -> object:
    if value not in (*_TRUE, *_FALSE):
        raise ValueError("true or false")
    return value in _TRUE


# Engram ignores what it cannot read of these; so does this server, and notes it.
LENIENT: dict[Callable[..., Any], str] = {
    _whole: "a whole number",
    _most: "a whole number above 0",
    _start: "zero or a whole number above it",
    _switch: "true or false",
}
Whole = Annotated[int | None, BeforeValidator(_whole)]
Most = Annotated[int | None, BeforeValidator(_most)]
Start = Annotated[int | None, BeforeValidator(_start)]
Switch = Annotated[bool | None, BeforeValidator(_switch)]
StrictSwitch = Annotated[bool, BeforeValidator(_strict_switch)]
Id = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Needed = Annotated[str, Field(pattern=r"\S")]
SEARCHED = object()
"""Marks the text that is searched for: a blank one is an empty query."""
Searched = Annotated[Needed, SEARCHED]


class InProject(BaseModel):
    """The project that is read or written; "" means none was named."""

    project: Annotated[str | None, BeforeValidator(lambda name: name or None)] = None

    @property
    def where(self) -> dict[str, Any]:
        """The project, scope and session that are named, as operations take them."""
        return self.model_dump(include={"project", "scope", "session_id"})


class InScope(InProject):
    scope: str | None = None


class InSession(InProject):
    session_id: str | None = None


class InScopeOfSession(InSession):
    scope: str | None = None


class Projects(BaseModel):
    """The projects of a read: one, or all."""

    project: str | None = Field(default=None, description="Whose memory; default: the project of `cwd`.")
    all_projects: StrictSwitch = Field(default=False, description="Every project; not together with `project`.")

    @classmethod
    def of(cls, project: str | None, *, all_projects: bool | None) -> Self:
        """Return the projects that a body names."""
        return cls.model_construct(project=project, all_projects=bool(all_projects))


class Listed(Projects):
    limit: Most = Field(default=None, description="Most results; what is no number above 0 means the default.")


@dataclass(frozen=True, slots=True)
class Selected:
    """The project of a read by ``name``, or all of them. ``named`` is set when the caller chose it."""

    name: str
    all_projects: bool
    named: str | None


@contextmanager
def app_in(app: Engram, cwd: str | None) -> Iterator[Engram]:
    """Give the memory as a caller in ``cwd`` sees it. Raises InvalidArgumentError when that is no absolute path."""
    if cwd is None or not cwd.strip():
        yield app.standing_in(None)
        return
    if "\0" in cwd or len(cwd) > MOST_PATH_CHARS or not expanded(cwd).is_absolute():
        raise InvalidArgumentError("cwd", cwd, expected="an absolute path on this machine")
    yield app.standing_in(expanded(cwd))


def selected(app: Engram, projects: Projects) -> Selected:
    """Return the project of a read.

    Raises:
        InvalidProjectError: it is blank, no name, or came together with ``all_projects``.
        UnknownProjectError: nothing was ever kept for it.
        AmbiguousProjectError: none was named, and the directory does not decide.
    """
    project = projects.project
    if projects.all_projects:
        if project is not None:
            raise InvalidProjectError(project, "all_projects asks for the others too", hint="leave one of them out")
        return Selected("", True, None)
    if project is not None:
        if not project.strip():
            raise InvalidProjectError(project, "it is blank")
        name = app.projects.existing(project)
        return Selected(name, False, name)
    here = app.projects.current()
    if here.project is None:
        names = here.candidates or tuple(line.name for line in app.projects.list())
        reason = "project resolution failed: the directory does not name one project"
        raise AmbiguousProjectError(here.project_path, names[:50], reason)
    return Selected(here.project, False, None)
