"""Record whose each row is, and tell which of them an agent may be given.

A row is the user's own where its ``arrival`` is null: the tools and hooks of this machine wrote it, it carries the
user's signature (``memory/privacy/signatures.py``), or the user accepted it. Every other row came through a door that
``arrivals`` names, and what it says of itself changes nothing. What the user trusted is *the project's*: it is given in
that project alone, under its author's name, and never as a pin, a preference or a text of the user. The rest is
*unchecked*: shown in its own project, apart and with its source. What was derived from talk *waits* until somebody
accepts it or says it again, and is given nowhere.
"""

from __future__ import annotations

from engram_py.base.database.store import Store

ANYBODY = "*"  # the author of a statement about a whole source
IMPORT, RELAYED = "import", "relayed:"
# What follows a repository in the source of what one of its branches alone has: trust of the repository ends there.
BRANCH = "/branch"
# What only its own person may say in a session: not told of others, not even apart.
NOT_TOLD = ("session_summary", "entity", "note", "identity", "preference")

# Memories that did more harm than help (``guidance/ledger/moments.py``): no door gives one unasked.
RETIRED = "select observation_id from retirements where retired_at is not null"
# Whoever writes to a source that was trusted as a whole is trusted in the same projects.
_AS_EVERYBODY = """
insert into trusted (arrival, project, trusted_at)
select :id, project, trusted_at from trusted
where arrival = (select id from arrivals where source = :source and author = :anybody)
"""
_REVIEWED = """
insert into retirements (observation_id, reviewed_at)
select :id, :now where exists (select 1 from moments where observation_id = :id)
on conflict (observation_id) do update set retired_at = null, reviewed_at = excluded.reviewed_at
"""

# What stands in ``unchecked`` of what waits: nobody else wrote it, and nobody has confirmed it.
WAITS = "review\n"


def waits(table: str = "observations") -> str:
    """Return the SQL condition of an observation that waits for somebody to accept it.

    Upkeep rewrites profiles and summaries itself, and a fix has its own evidence: nobody need confirm these.
    """
    return f"""({table}.origin = 'derived' and {table}.type <> 'session_summary' and ({table}.topic_key is null
    or {table}.topic_key not like 'entity/%' and {table}.topic_key not like 'failure/%'
    and {table}.topic_key <> 'identity/profile'))"""


def own(table: str) -> str:
    """Return the SQL condition of a row that is the user's own."""
    return f"({table}.arrival is null)"


def trusted(table: str, project: str = "") -> str:
    """Return the SQL condition of a row that the user trusted for ``project``, an expression: by default the row's."""
    return f"""exists (select 1 from trusted where trusted.arrival = {table}.arrival
    and trusted.project = {project or f"{table}.project"} and trusted.trusted_at is not null)"""


def given(table: str) -> str:
    """Return the SQL condition of a row that may be given in its project: the user's own, or the project's."""
    return f"({table}.arrival is null or {trusted(table)})"


# Of observations, what may be given: everywhere, and in their project.
OWN = f"(observations.arrival is null and not {waits()})"
GIVEN = f"({given('observations')} and not {waits()})"


def unchecked(table: str, project: str = "") -> str:
    """Return the SQL expression of why a row may not be given: its source and author, on two lines; null of the rest.

    ``table`` is that of the rows, or its alias; of observations ``WAITS`` is an answer, too.
    """
    foreign = f"""(select source || char(10) || name from arrivals
    where id = {table}.arrival and not {trusted(table, project)})"""
    return f"iif({waits()}, coalesce({foreign}, '{WAITS}'), {foreign})" if table == "observations" else foreign


def author(table: str) -> str:
    """Return the SQL expression of the name of who wrote a row; null of the user's own."""
    return f"(select iif(name = '', 'somebody else', name) from arrivals where id = {table}.arrival)"


def arrival_of(store: Store, source: str, author: str = "", name: str = "") -> int:
    """Return the id of an arrival, made when it is new. Call inside a transaction."""
    row = store.row("select id, name from arrivals where source = :s and author = :a", s=source, a=author)
    if row is not None:
        if name and name != row["name"]:
            store.update("arrivals", {"id": row["id"]}, {"name": name})
        return int(row["id"])
    made = store.insert("arrivals", {"source": source, "author": author, "name": name})
    store.execute(_AS_EVERYBODY, id=made, source=source, anybody=ANYBODY)
    return made


def relayed(store: Store, source: str, claim: str) -> int:
    """Return the arrival of a row that its sender says is somebody else's: trust of the sender does not reach it."""
    return arrival_of(store, f"{RELAYED}{source}", claim, claim)


def author_of(unchecked: str) -> str:
    """Return the author's name of an ``unchecked`` value, or a word for one that is not known."""
    return unchecked.partition("\n")[2] or "somebody else"


def trust(store: Store, arrival: int, project: str, at: str | None) -> None:
    """Trust an arrival in one project from ``at`` on; None: it is not trusted. Call inside a transaction."""
    store.insert("trusted", {"arrival": arrival, "project": project, "trusted_at": at}, replace=True)


def retired(store: Store) -> set[int]:
    """Return the memories that nobody is given unasked until somebody reviewed them."""
    return {row[0] for row in store.tuples(RETIRED)}


def reviewed(store: Store, observation_id: int, now: str) -> None:
    """Note that somebody looked at a memory: it is given again. Call inside a transaction."""
    store.execute(_REVIEWED, id=observation_id, now=now)
