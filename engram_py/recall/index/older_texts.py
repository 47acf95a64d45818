"""SQL over the texts that observations had before: they are in no index."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.observations.table import VISIBLE, projects_json

# The newest :walked versions there are, of these the newest :most that may be seen, and the beginning of each.
NEWEST = f"""
select observation_id, substr(title || ' ' || content, 1, :chars)
from observation_versions
where id in (
    select walked.id
    from (select id, observation_id from observation_versions order by id desc limit :walked) as walked
    join observations on observations.id = walked.observation_id
    where deleted_at is null and {VISIBLE}
    order by walked.id desc
    limit :most
)
order by id desc
"""


def newest(
    store: Store, projects: Sequence[str] | None, *, walked: int, most: int, chars: int
) -> list[tuple[int, str]]:
    """Ids of live observations and what each said before, latest first; an id as often as its text was rewritten."""
    return store.tuples(NEWEST, projects=projects_json(projects), walked=walked, most=most, chars=chars)
