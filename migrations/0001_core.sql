-- The memory core: sessions, observations and their versions, prompts, relations, projects.
-- Times are UTC text, `YYYY-MM-DDTHH:MM:SS.mmmZ`. `clock` is the hybrid logical clock of a row's last
-- change: 12 hex digits of milliseconds, 4 of counter, then the device; text order is clock order.

create table meta (
    key text primary key,
    value text not null
) strict;

create table projects (
    name text primary key,
    display_name text not null,
    origin text not null default 'agent',
    created_at text not null,
    updated_at text not null,
    clock text not null
) strict;

-- What a name used to be. Chains are flattened when a project is merged, so one look-up is enough.
create table project_aliases (
    alias text primary key,
    project text not null references projects (name) on update cascade on delete cascade,
    created_at text not null,
    clock text not null
) strict;
create index project_aliases_project on project_aliases (project);

-- Which repositories are this project: `kind` is `common_dir` (a path on this machine) or `remote`
-- (host/owner/name without credentials). Local knowledge, never synced.
create table project_identities (
    kind text not null check (kind in ('common_dir', 'remote')),
    value text not null,
    project text not null references projects (name) on update cascade on delete cascade,
    created_at text not null,
    primary key (kind, value)
) strict;
create index project_identities_project on project_identities (project);

create table sessions (
    id text primary key,
    project text not null,
    directory text not null default '',
    agent text not null default '',
    ownership_mode text not null default 'shared' check (ownership_mode in ('shared', 'project_owned')),
    started_at text not null,
    ended_at text,
    summary text,
    updated_at text not null,
    clock text not null
) strict;
create index sessions_project on sessions (project, started_at desc);
create index sessions_started on sessions (started_at desc);

create table observations (
    id integer primary key autoincrement,
    sync_id text not null unique,
    session_id text not null references sessions (id) on update cascade,
    project text not null,
    scope text not null default 'project' check (scope in ('project', 'personal', 'global')),
    type text not null default 'manual',
    title text not null,
    content text not null,
    topic_key text,
    aliases text not null default '',
    terms text not null default '',
    tool_name text,
    origin text not null default 'agent' check (origin in ('user', 'agent', 'derived', 'import')),
    lifecycle text not null default 'active' check (lifecycle in ('active', 'historical', 'archived')),
    pinned integer not null default 0 check (pinned in (0, 1)),
    salience real not null default 0.5,
    access_count integer not null default 0,
    last_accessed_at text,
    review_after text,
    expires_at text,
    git_branch text,
    git_commit text,
    revision_count integer not null default 1,
    duplicate_count integer not null default 0,
    last_seen_at text,
    content_hash text not null,
    created_at text not null,
    updated_at text not null,
    deleted_at text,
    clock text not null
) strict;
create index observations_session on observations (session_id, id);
create index observations_recent on observations (project, updated_at desc, id desc) where deleted_at is null;
create index observations_newest on observations (updated_at desc, id desc) where deleted_at is null;
create index observations_shared on observations (updated_at desc, id desc, project) where scope <> 'project' and deleted_at is null;
create index observations_topic on observations (project, scope, topic_key) where topic_key is not null and deleted_at is null;
create index observations_topic_key on observations (topic_key) where topic_key is not null and deleted_at is null;
create index observations_hash on observations (content_hash, project) where deleted_at is null;
create index observations_pinned on observations (project, updated_at desc, id desc) where pinned = 1 and deleted_at is null;
create index observations_review on observations (review_after) where review_after is not null and deleted_at is null;

create table observation_versions (
    id integer primary key,
    observation_id integer not null references observations (id) on delete cascade,
    version integer not null,
    title text not null,
    content text not null,
    created_at text not null,
    clock text not null,
    unique (observation_id, version)
) strict;

-- What a save with an operation id answered, so that a retry after a lost reply answers the same.
create table save_operations (
    operation_id text primary key,
    fingerprint text not null,
    answer text not null,
    created_at text not null
) strict;
create index save_operations_age on save_operations (created_at);

create table user_prompts (
    id integer primary key autoincrement,
    sync_id text not null unique,
    session_id text not null references sessions (id) on update cascade,
    project text not null,
    content text not null,
    terms text not null default '',
    created_at text not null,
    clock text not null
) strict;
create index user_prompts_session on user_prompts (session_id, id);
create index user_prompts_recent on user_prompts (project, created_at desc);
create index user_prompts_newest on user_prompts (created_at desc);

-- Endpoints are text references: the sync id of an observation, or `entity:<slug>`.
create table memory_relations (
    id integer primary key,
    sync_id text not null unique,
    source_id text not null,
    target_id text not null,
    relation text not null default 'pending',
    reason text,
    evidence text,
    confidence real check (confidence is null or (confidence >= 0 and confidence <= 1)),
    judgment_status text not null default 'pending'
        check (judgment_status in ('pending', 'judged', 'orphaned', 'ignored')),
    marked_by_actor text,
    marked_by_kind text,
    marked_by_model text,
    session_id text,
    project text not null default '',
    superseded_at text,
    superseded_by_relation_id integer references memory_relations (id) on delete set null,
    created_at text not null,
    updated_at text not null,
    clock text not null
) strict;
create index memory_relations_source on memory_relations (source_id, judgment_status);
create index memory_relations_target on memory_relations (target_id, judgment_status);
create index memory_relations_pending on memory_relations (judgment_status, created_at desc);
