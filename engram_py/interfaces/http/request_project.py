"""Where a request stands: the directory that decides its project, and the project it asks about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, Field

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.http.routing import Body, Query, StrictSwitch
from engram_py.projects.errors import AmbiguousProjectError, InvalidProjectError

MOST_PATH_CHARS = 4_096


class CwdQuery(Query):
    cwd: str | None = Field(default=None, description="Directory that decides the project; default: the server's.")


class _Place(BaseModel):
    project: Annotated[str | None, BeforeValidator(lambda name: name or None)] = None

    @property
    def where(self) -> dict[str, Any]:
        """The project, scope and session that are named, as operations take them."""
        return self.model_dump(include={"project", "scope", "session_id"})


class PlaceQuery(CwdQuery, _Place):
    pass


class ScopeQuery(PlaceQuery):
    scope: str | None = None


class ProjectBody(Body, _Place):
    pass


class PlaceBody(ProjectBody):
    session_id: str | None = None


class ScopeBody(PlaceBody):
    scope: str | None = None


class ProjectQuery(CwdQuery):
    project: str | None = Field(default=None, description="Whose memory; default: the project of `cwd`.")
    all_projects: StrictSwitch = Field(default=False, description="Every project; not together with `project`.")

    @classmethod
    def of(cls, *, project: str | None, all_projects: bool) -> Self:
        """The same asked for in a body."""
        return cls.model_construct(project=project, all_projects=all_projects)


@dataclass(frozen=True, slots=True)
class Selected:
    """What a read looks at: one project by ``name``, or all of them. ``named`` is set when the caller chose it."""

    name: str
    all_projects: bool
    named: str | None


@contextmanager
def app_in(app: Engram, cwd: str | None) -> Iterator[Engram]:
    """The memory as a caller in ``cwd`` sees it. Raises InvalidArgumentError when that is no absolute path."""
    if cwd is None or not cwd.strip():
        yield app.standing_in(None)
        return
    if "\0" in cwd or len(cwd) > MOST_PATH_CHARS or not Path(cwd).is_absolute():
        raise InvalidArgumentError("cwd", cwd, expected="an absolute path on this machine")
    yield app.standing_in(Path(cwd))


def selected(app: Engram, query: ProjectQuery) -> Selected:
    """The project of a read.

    Raises:
        InvalidProjectError: it is blank, no name, or came together with ``all_projects``.
        UnknownProjectError: nothing was ever kept for it.
        AmbiguousProjectError: none was named, and the directory does not decide.
    """
    if query.all_projects:
        if query.project is not None:
            raise InvalidProjectError(
                query.project, "all_projects asks for the others too", hint="leave one of them out"
            )
        return Selected("", True, None)
    if query.project is not None:
        if not query.project.strip():
            raise InvalidProjectError(query.project, "it is blank")
        name = app.projects.existing(query.project)
        return Selected(name, False, name)
    here = app.projects.current()
    if here.project is None:
        names = here.candidates or tuple(line.name for line in app.projects.list())
        reason = "project resolution failed: the directory does not name one project"
        raise AmbiguousProjectError(here.project_path, names[:50], reason)
    return Selected(here.project, False, None)
