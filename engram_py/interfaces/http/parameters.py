"""What the parameters of a request may be, and the project of a read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from engram_py.app import Engram
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import (
    InvalidArgumentError,
)
from engram_py.base.files import expanded
from engram_py.memory.projects.values import AmbiguousProjectError, InvalidProjectError

MAX_INTEGER = 2**63 - 1
MOST_PATH_CHARS = 4_096


class AddressQuery(BaseModel):
    """The part of an address after ``?``. Unknown names are ignored and noted."""

    cwd: str | None = Field(default=None, description="Directory that decides the project; default: the server's.")


class Body(BaseModel):
    """A JSON object. Its types are strict: ``"7"`` is text. Unknown names are ignored and noted, null is left out."""

    model_config = ConfigDict(strict=True)


def _whole(value: object) -> object:
    """Return an integer, None for anything else: Engram takes its own default then."""
    try:
        number = int(str(value)) if len(str(value)) <= 20 else None
    except ValueError:
        return None
    return None if number is None else max(-MAX_INTEGER, min(MAX_INTEGER, number))


def _most(value: object) -> object:
    return _start(value) or None


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
# A name as the description shows it (projects/values.py): no path, no control character, not blank.
PROJECT = r"^[^\s~./\\\-_\u0000-\u001f\u007f-\u009f][^/\\:\u0000-\u001f\u007f-\u009f]{0,99}$"
SEARCHED = object()
"""Marks the text that is searched for: a blank one is an empty query."""
Searched = Annotated[Needed, SEARCHED]


class InProject(BaseModel):
    """The project that is read or written; "" means none was named."""

    project: Annotated[str | None, BeforeValidator(lambda name: None if name == "" else name)] = Field(
        default=None, json_schema_extra={"pattern": f"^$|{PROJECT}"}
    )

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


class ProjectsQuery(BaseModel):
    """The projects of a read: one, or all."""

    project: str | None = Field(
        default=None, description="The project; default: the project of `cwd`.", json_schema_extra={"pattern": PROJECT}
    )
    all_projects: StrictSwitch = Field(default=False, description="Every project; not together with `project`.")

    @classmethod
    def of(cls, project: str | None, *, all_projects: bool | None) -> Self:
        """Return the projects that a body names."""
        return cls.model_construct(project=project, all_projects=bool(all_projects))


class Listed(ProjectsQuery):
    limit: Most = Field(default=None, description="Most results; anything but a number above 0 means the default.")


@dataclass(frozen=True, slots=True)
class Selected:
    """The project of a read by ``name``, or all of them. ``named`` is set when the caller chose it."""

    name: str
    all_projects: bool
    named: str | None

    @property
    def asked(self) -> dict[str, Any]:
        """The projects of a read as operations take them."""
        return {"project": self.named, "all_projects": self.all_projects}


def app_in(app: Engram, cwd: str | None) -> Engram:
    """Return the memory as a caller in ``cwd`` sees it. Raises InvalidArgumentError when that is no absolute path."""
    if cwd is None or not cwd.strip():
        return app.for_caller(None)
    if "\0" in cwd or len(cwd) > MOST_PATH_CHARS or not expanded(cwd).is_absolute():
        raise InvalidArgumentError("cwd", cwd, expected="an absolute path on this machine")
    return app.for_caller(expanded(cwd))


def selected(app: Engram, projects: ProjectsQuery) -> Selected:
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
        reason = "this directory does not decide the project"
        raise AmbiguousProjectError(here.project_path, names[:50], reason)
    return Selected(here.project, False, None)
