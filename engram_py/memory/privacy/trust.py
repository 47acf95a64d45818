"""Trust: what came from elsewhere becomes the project's when the user says so, by author or as a whole, in one project.

It never becomes the user's own: that is ``Edit.accept``, row by row, or the user's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidArgumentError, NotFoundError
from engram_py.memory.observations import topics
from engram_py.memory.privacy import provenance
from engram_py.memory.privacy.signatures import Keyring, KeyShown
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table as relations

if TYPE_CHECKING:
    from engram_py.base.database.store import Store


class NoArrivalError(NotFoundError):
    code = "arrival_not_found"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"nothing here came from {what}", hint="`engram trust` lists where memories came from")


@dataclass(frozen=True, slots=True)
class Arrival:
    """Where rows came from: ``source`` names the door (``git:…``, ``cloud:…``, ``import``), ``author`` is what the door
    knows of who wrote them (the key of a signature, else ``~`` and a name), ``name`` how they call themselves.
    ``rows`` counts live observations, in ``projects``. The user answered for those of ``decided_in``, with yes for
    ``trusted_in``."""

    id: int
    source: str
    author: str
    name: str
    rows: int = 0
    projects: tuple[str, ...] = ()
    trusted_in: tuple[str, ...] = ()
    decided_in: tuple[str, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether it is trusted in every project that it has rows in."""
        return bool(self.trusted_in) and set(self.projects) <= set(self.trusted_in)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Everybody that rows came from."""

    items: tuple[Arrival, ...]


@dataclass(frozen=True, slots=True)
class TrustChanged:
    """The authors whose rows became the project's, or stopped being it; ``rows`` counts live observations of theirs in
    these projects."""

    items: tuple[Arrival, ...]
    trusted: bool
    rows: int


_ARRIVALS = """
select arrivals.id, arrivals.source, author, name, count(observations.id) as rows,
    coalesce(group_concat(distinct project), '') as projects,
    coalesce((select group_concat(project) from trusted
        where arrival = arrivals.id and trusted_at is not null), '') as trusted_in,
    coalesce((select group_concat(project) from trusted where arrival = arrivals.id), '') as decided_in
from arrivals left join observations on observations.arrival = arrivals.id and observations.deleted_at is null
group by arrivals.id
order by arrivals.source, author
"""

_TOPICS = """
select distinct project, scope, topic_key from observations
where arrival in (select value from json_each(:ids)) and topic_key is not null
"""

_ADOPTED = ("observations", "observation_versions", "user_prompts", "sessions", "memory_relations")
_COUNTED = """
select count(*) from observations
where arrival in (select value from json_each(:ids)) and project in (select value from json_each(:projects))
  and deleted_at is null
"""


class Trust:
    """Lists where rows came from, and keeps which of it the user answers for, in which project."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self.keys = Keyring(core.store.path.parent)

    def arrivals(self) -> Arrivals:
        """Return everybody that rows came from, with the number of their observations."""
        return Arrivals(tuple(one for one in arrivals(self._store) if one.author != provenance.ANYBODY))

    def author(self, author: str, *, project: str | None = None, trusted: bool = True) -> TrustChanged:
        """Trust what one author wrote and will write in a project, by the name or key that ``arrivals`` shows, or stop
        doing so; without a ``project``, in each that has rows of theirs.

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
        wanted = {self._projects.existing(project)} if project else {name for one in found for name in one.projects}
        return self._changed(found, wanted, trusted)

    def project(self, project: str | None = None, *, trusted: bool = True) -> TrustChanged:
        """Trust every source that the rows of a project came from, whoever writes there, for this project alone, or
        stop doing so.

        Raises NoArrivalError: nothing of it came from elsewhere.
        """
        name = self._projects.existing(project) if project else self._projects.for_read(None).project
        found = self._of(name)
        if not found:
            raise NoArrivalError(project or "elsewhere in this project")
        return self.source(*dict.fromkeys(one.source for one in found), projects=[name], trusted=trusted)

    def source(self, *sources: str, projects: Sequence[str], trusted: bool = True) -> TrustChanged:
        """Trust whoever writes to these sources in these projects, or say that they are not trusted as a whole."""
        with self._store.transaction():
            for source in sources:
                provenance.arrival_of(self._store, source, provenance.ANYBODY)
            found = [one for one in arrivals(self._store) if one.source in sources]
            return self._changed(found, set(projects), trusted)

    def is_decided(self, source: str, project: str) -> bool:
        """Return whether somebody said whether a source is trusted as a whole in a project."""
        found = (one for one in arrivals(self._store) if (one.source, one.author) == (source, provenance.ANYBODY))
        return any(project in one.decided_in for one in found)

    def disown(self, observation_id: int, author: str) -> None:
        """Let an observation count as an author's whom nobody trusts."""
        with self._store.transaction():
            arrival = provenance.arrival_of(self._store, provenance.IMPORT, f"~{author}", author)
            self._store.update("observations", {"id": observation_id}, {"arrival": arrival})

    def take_in_key(self, phrase: str) -> KeyShown:
        """Make the key of a phrase the one that signs here: what it signed before is the user's own.

        Raises InvalidArgumentError: the phrase is wrong.
        """
        shown = self.keys.take_in(phrase)
        with self._store.transaction():
            found = [one for one in arrivals(self._store) if one.author == shown.key]
            ids = [one.id for one in found]
            touched = self._store.tuples(_TOPICS, ids=ids)
            for table in _ADOPTED:
                sql = f"update {table} set arrival = null where arrival in (select value from json_each(:ids))"
                self._store.execute(sql, ids=ids)
            self._settle(touched)
        return shown

    def _of(self, project: str | None) -> list[Arrival]:
        name = self._projects.existing(project) if project else None
        # What a branch alone has becomes the team's by review, on the default branch.
        found = [one for one in self.arrivals().items if not one.source.endswith(provenance.BRANCH)]
        return [one for one in found if name is None or name in one.projects]

    def _changed(self, found: list[Arrival], projects: set[str], trusted: bool) -> TrustChanged:
        at = self._journal.now() if trusted else None
        ids = [one.id for one in found]
        with self._store.transaction():
            for one in ids:
                for project in projects:
                    provenance.trust(self._store, one, project, at)
            # What others say takes the place of the project's only once they are trusted.
            self._settle(self._store.tuples(_TOPICS, ids=ids))
        named = tuple(one for one in arrivals(self._store) if one.id in ids and one.author != provenance.ANYBODY)
        rows = int(self._store.value(_COUNTED, ids=ids, projects=sorted(projects)))
        return TrustChanged(named, trusted, rows)

    def _settle(self, touched: Sequence[topics.Topic]) -> None:
        for topic in touched:
            topics.fold(self._store, topic)
        relations.settle_all(self._store)


def undecided(store: Store, source: str, project: str) -> tuple[Arrival, ...]:
    """Return the authors of a source that nobody has trusted or refused yet in a project."""
    found = [one for one in arrivals(store) if one.source == source]
    decided = any(project in one.decided_in for one in found if one.author == provenance.ANYBODY)
    return () if decided else tuple(one for one in found if project in one.projects and project not in one.trusted_in)


def arrivals(store: Store) -> list[Arrival]:
    """Return everybody that rows came from, and the statements about whole sources."""
    return [
        Arrival(number, source, author, name, rows, *(tuple(filter(None, one.split(","))) for one in projects))
        for number, source, author, name, rows, *projects in store.tuples(_ARRIVALS)
    ]
