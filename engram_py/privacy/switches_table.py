"""SQL over what the user switched on or off."""

from __future__ import annotations

from engram_py.database.store import Row, Store

OF = """
select scope, switch, is_on from switches
where scope = 'all'
   or (scope = 'project' and name = :project)
   or (scope = 'session' and name = :session)
"""


def of(store: Store, project: str, session_id: str) -> dict[tuple[str, str], bool]:
    """What was said about everything, a project and a session, by (scope, switch)."""
    rows = store.rows(OF, project=project, session=session_id)
    return {(row["scope"], row["switch"]): bool(row["is_on"]) for row in rows}


def all_rows(store: Store) -> list[Row]:
    return store.rows("select scope, name, switch, is_on from switches order by scope, name, switch")


def put(store: Store, *, scope: str, name: str, switch: str, on: bool) -> None:
    """Note a choice in place of the one before. Call inside a transaction."""
    values = {"scope": scope, "name": name, "switch": switch, "is_on": int(on)}
    store.insert("switches", values, replace=True)
