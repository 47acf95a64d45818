"""SQL over sessions and user prompts."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.models.session import SESSION_COLUMNS, Prompt, Session, SessionLine
from engram_py.store.database import Row, Store
from engram_py.store.observations import projects_json

COLUMNS = ", ".join(SESSION_COLUMNS)

RECENT = """
select
    sessions.id, sessions.project, sessions.agent, sessions.started_at, sessions.ended_at, sessions.summary,
    count(observations.id) as observations,
    max(coalesce(max(observations.created_at), ''), sessions.started_at) as active_at
from sessions
left join observations on observations.session_id = sessions.id and observations.deleted_at is null
where :projects is null or sessions.project in (select value from json_each(:projects))
group by sessions.id
order by active_at desc, sessions.id
limit :limit
"""

RECENT_PROMPTS = """
select id, sync_id, session_id, project, content, created_at
from user_prompts
where (:projects is null or project in (select value from json_each(:projects)))
  and (:session_id is null or session_id = :session_id)
order by created_at desc, id desc
limit :limit
"""

SEARCH_PROMPTS = """
select user_prompts.id, sync_id, session_id, project, user_prompts.content, created_at
from prompts_fts
join user_prompts on user_prompts.id = prompts_fts.rowid
where prompts_fts match :match
  and (:projects is null or project in (select value from json_each(:projects)))
order by bm25(prompts_fts), user_prompts.id desc
limit :limit
"""


def by_id(store: Store, session_id: str) -> Session | None:
    row = store.row(f"select {COLUMNS} from sessions where id = :id", id=session_id)
    return None if row is None else Session.from_row(row)


def recent(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[SessionLine]:
    rows = store.rows(RECENT, projects=projects_json(projects), limit=limit)
    names = ("id", "project", "agent", "started_at", "ended_at", "summary", "observations")
    return [SessionLine(**{name: row[name] for name in names}) for row in rows]


def as_prompt(row: Row) -> Prompt:
    return Prompt(row["id"], row["sync_id"], row["session_id"], row["project"], row["content"], row["created_at"])


def recent_prompts(
    store: Store, *, projects: Sequence[str] | None, limit: int, session_id: str | None = None
) -> list[Prompt]:
    rows = store.rows(RECENT_PROMPTS, projects=projects_json(projects), limit=limit, session_id=session_id)
    return [as_prompt(row) for row in rows]


def search_prompts(store: Store, *, match: str, projects: Sequence[str] | None, limit: int) -> list[Prompt]:
    rows = store.rows(SEARCH_PROMPTS, match=match, projects=projects_json(projects), limit=limit)
    return [as_prompt(row) for row in rows]


def prompt_by_id(store: Store, prompt_id: int) -> Prompt | None:
    row = store.row("select * from user_prompts where id = :id", id=prompt_id)
    return None if row is None else as_prompt(row)


def equal_prompt(store: Store, *, session_id: str, project: str, content: str) -> Prompt | None:
    row = store.row(
        "select * from user_prompts where session_id = :session_id and project = :project and content = :content",
        session_id=session_id,
        project=project,
        content=content,
    )
    return None if row is None else as_prompt(row)


def observations_in(store: Store, session_id: str) -> int:
    """How many observations name this session, soft-deleted ones included."""
    return int(store.value("select count(*) from observations where session_id = :id", id=session_id))
