"""Trust: what came from elsewhere becomes the user's own when the user says so, row by row, by author or by source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram_py.dataclass import dataclass, replace
from engram_py.errors import InvalidArgumentError, NotFoundError
from engram_py.observations import topics
from engram_py.privacy import provenance
from engram_py.projects.projects import Core
from engram_py.relations import table as relations

if TYPE_CHECKING:
    from engram_py.database.store import Store


class NoArrivalError(NotFoundError):
    code = "arrival_not_found"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"nothing here came from {what}", hint="`engram trust` lists where memories came from")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Whom rows came from: ``source`` names the door (``git:…``, ``cloud:…``, ``import``), ``author`` is what the door
    knows of who wrote them, ``name`` how they call themselves. ``rows`` counts live observations."""

    id: int
    source: str
    author: str
    name: str
    trusted: bool
    rows: int = 0
    projects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Everybody that rows came from."""

    items: tuple[Arrival, ...]


@dataclass(frozen=True, slots=True)
class TrustChanged:
    """The sources and authors whose rows became the user's own, or stopped being it."""

    items: tuple[Arrival, ...]
    trusted: bool

    @property
    def rows(self) -> int:
        """The number of live observations that it reached."""
        return sum(one.rows for one in self.items)


_ARRIVALS = """
select arrivals.id, arrivals.source, author, name, trusted_at is not null as trusted, count(observations.id) as rows,
    coalesce(group_concat(distinct project), '') as projects
from arrivals left join observations on observations.arrival = arrivals.id and observations.deleted_at is null
group by arrivals.id
order by arrivals.source, author
"""

_TOPICS = """
select distinct project, scope, topic_key from observations
where arrival in (select value from json_each(:ids)) and topic_key is not null
"""


class Trust:
    """Lists where rows came from, and says which of it the user answers for."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def arrivals(self) -> Arrivals:
        """Return everybody that rows came from, with the number of their observations."""
        return Arrivals(tuple(one for one in arrivals(self._store) if one.author != provenance.ANYBODY))

    def author(self, author: str, *, project: str | None = None, trusted: bool = True) -> TrustChanged:
        """Trust what one author wrote and will write, by the name or key that ``arrivals`` shows, or stop doing so.

        Raises NoArrivalError: nothing came from them; InvalidArgumentError: the name comes from several sources, in
        each of which somebody else may have taken it.
        """
        found = [one for one in self._of(project) if author in (one.author, one.name)]
        if not found:
            raise NoArrivalError(author)
        if len({one.source for one in found}) > 1 and author not in {one.author for one in found}:
            import shlex

            said = f"several sources have an author {author}"
            step = f"name one: `engram trust --author {shlex.quote(author)} --project NAME`"
            raise InvalidArgumentError("author", said=said, step=step)
        return self._changed(found, trusted)

    def project(self, project: str | None = None, *, trusted: bool = True) -> TrustChanged:
        """Trust every source that the rows of a project came from, whoever writes there, or stop doing so.

        Raises NoArrivalError: nothing of it came from elsewhere.
        """
        found = self._of(project or self._projects.for_read(None).project)
        if not found:
            raise NoArrivalError(project or "elsewhere in this project")
        with self._store.transaction():
            return self.source(*dict.fromkeys(one.source for one in found), trusted=trusted)

    def source(self, *sources: str, trusted: bool = True) -> TrustChanged:
        """Trust whoever writes to these sources, or say that they are not trusted as a whole."""
        with self._store.transaction():
            for source in sources:
                provenance.arrival_of(self._store, source, provenance.ANYBODY)
            return self._changed([one for one in arrivals(self._store) if one.source in sources], trusted)

    def is_decided(self, source: str) -> bool:
        """Return whether somebody said whether a source is trusted as a whole."""
        return any(one.source == source and one.author == provenance.ANYBODY for one in arrivals(self._store))

    def _of(self, project: str | None) -> list[Arrival]:
        name = self._projects.existing(project) if project else None
        # What a branch alone has becomes the team's by review, on the default branch.
        found = [one for one in self.arrivals().items if not one.source.endswith(provenance.BRANCH)]
        return [one for one in found if name is None or name in one.projects]

    def _changed(self, found: list[Arrival], trusted: bool) -> TrustChanged:
        at = self._journal.now() if trusted else None
        with self._store.transaction():
            for one in found:
                self._store.update("arrivals", {"id": one.id}, {"trusted_at": at})
            # What others say takes the place of the user's own only once they are trusted.
            ids = [one.id for one in found]
            for topic in self._store.tuples(_TOPICS, ids=ids):
                topics.fold(self._store, topic)
            relations.settle_all(self._store)
        named = [one for one in found if one.author != provenance.ANYBODY]
        return TrustChanged(tuple(replace(one, trusted=trusted) for one in named), trusted)


def undecided(store: Store, source: str) -> tuple[Arrival, ...]:
    """Return the authors of a source of whom nobody has said yet whether they are trusted."""
    found = [one for one in arrivals(store) if one.source == source]
    decided = any(one.author == provenance.ANYBODY for one in found)
    return () if decided else tuple(one for one in found if not one.trusted and one.rows)


def arrivals(store: Store) -> list[Arrival]:
    """Return everybody that rows came from, and the statements about whole sources."""
    return [
        Arrival(number, source, author, name, bool(trusted), rows, tuple(filter(None, projects.split(","))))
        for number, source, author, name, trusted, rows, projects in store.tuples(_ARRIVALS)
    ]
