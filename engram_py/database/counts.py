"""Count the rows of each kind: the counts are kept by the triggers of migration 0031, and counted again by the
doctor."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store

_OF = "kind = :kind and (:projects is null or project in (select value from json_each(:projects)))"
_NUMBER = f"select coalesce(sum(number), 0) from counts where {_OF}"
_TYPES = f"""
select type, sum(number) as number from counts where {_OF} and number > 0 group by type order by number desc, type
"""

# As the migration fills the table.
_COUNTED = """
select iif(deleted_at is null, 'observation', 'deleted') as kind, project, iif(deleted_at is null, type, '') as type,
    count(*) as number
from observations group by 1, 2, 3
union all select 'session', project, '', count(*) from sessions group by project
union all select 'prompt', project, '', count(*) from user_prompts group by project
union all select 'relation', project, '', count(*) from memory_relations group by project
union all select 'version', '', '', count(*) from observation_versions
"""
_WRONG = f"""
select kind, project, type from (
    select kind, project, type, number from counts where number <> 0
    union all select kind, project, type, number from ({_COUNTED}) where number <> 0
)
group by kind, project, type, number having count(*) = 1
order by kind, project, type
"""


def number(store: Store, kind: str, projects: Sequence[str] | None = None) -> int:
    """Return how many rows of a kind the projects have: observation (a live one), deleted, session, prompt, relation or
    version. It takes the same time however many there are."""
    return int(store.value(_NUMBER, kind=kind, projects=projects))


def types(store: Store, projects: Sequence[str] | None = None) -> dict[str, int]:
    """Return how many live observations there are of each type, the most first."""
    return dict(store.tuples(_TYPES, kind="observation", projects=projects))


def wrong(store: Store) -> list[str]:
    """Return the kinds and projects whose number is not what counting every row gives."""
    return list(dict.fromkeys(f"{kind} {project}".strip() for kind, project, _ in store.tuples(_WRONG)))


def count_again(store: Store) -> None:
    """Count every row. Call inside a transaction."""
    store.execute("delete from counts")
    store.execute(f"insert into counts (kind, project, type, number) {_COUNTED}")
