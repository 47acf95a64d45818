"""Record where rows came from, and tell which of them may speak as the user.

A row's ``arrival`` is recorded by the door it came through and by nothing that the row says of itself: null for the
tools and hooks of this machine, else a row of ``arrivals`` that names the folder, server or file. A foreign row that
nobody trusted is *unchecked*: it is shown in its own project, apart and with its source, and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram_py.database.store import Store

if TYPE_CHECKING:
    from engram_py.observations.values import Observation

ANYBODY = "*"  # the author of a statement about a whole source
IMPORT, RELAYED = "import", "relayed:"
# What follows a repository in the source of what one of its branches alone has: trust of the repository ends there.
BRANCH = "/branch"
BROUGHT = ("import", "derived")
# What only its own person may say in a session: not told of others, not even apart.
NOT_TOLD = ("session_summary", "entity", "note", "identity", "preference")

# Memories that did more harm than help (``ledger/moments.py``): no door gives one unasked.
RETIRED = "select observation_id from retirements where retired_at is not null"
_REVIEWED = """
insert into retirements (observation_id, reviewed_at)
select :id, :now where exists (select 1 from moments where observation_id = :id)
on conflict (observation_id) do update set retired_at = null, reviewed_at = excluded.reviewed_at
"""

_TRUSTED = "select id from arrivals where trusted_at is not null"


def own(table: str) -> str:
    """Return the SQL condition of a row that may be taken for the user's own."""
    return f"({table}.arrival is null or {table}.arrival in ({_TRUSTED}))"


# The same where one table has an arrival.
OWN = f"(arrival is null or arrival in ({_TRUSTED}))"


def unchecked(table: str) -> str:
    """Return the SQL expression of a row's source and author where nobody trusted them, else null."""
    return f"(select source || char(10) || name from arrivals where id = {table}.arrival and trusted_at is null)"


def arrival_of(store: Store, source: str, author: str = "", name: str = "") -> int:
    """Return the id of an arrival, made when it is new. Call inside a transaction."""
    row = store.row("select id, name from arrivals where source = :s and author = :a", s=source, a=author)
    if row is not None:
        if name and name != row["name"]:
            store.update("arrivals", {"id": row["id"]}, {"name": name})
        return int(row["id"])
    trusted = store.value("select trusted_at from arrivals where source = :s and author = :a", s=source, a=ANYBODY)
    return store.insert("arrivals", {"source": source, "author": author, "name": name, "trusted_at": trusted})


def relayed(store: Store, source: str, claim: str) -> int:
    """Return the arrival of a row that its sender says is somebody else's: trust of the sender does not reach it."""
    return arrival_of(store, f"{RELAYED}{source}", claim, claim)


def author_of(unchecked: str) -> str:
    """Return the author's name of an ``unchecked`` value, or a word for one that is not known."""
    return unchecked.partition("\n")[2] or "somebody else"


def is_withheld(row: Observation) -> bool:
    """Return whether an observation is never given unasked: another wrote it, and it reads like an order."""
    if not row.unchecked and row.origin not in BROUGHT:
        return False
    from engram_py.capture.orders import reads_like_an_order  # few processes are given anything of somebody else

    return reads_like_an_order(row.title, row.content)


def retired(store: Store) -> set[int]:
    """Return the memories that nobody is given unasked until somebody reviewed them."""
    return {row[0] for row in store.tuples(RETIRED)}


def reviewed(store: Store, observation_id: int, now: str) -> None:
    """Note that somebody looked at a memory: it is given again. Call inside a transaction."""
    store.execute(_REVIEWED, id=observation_id, now=now)
