-- What other machines have to hear about. One row per changed thing: a later change of the same thing
-- replaces the row and takes a new `seq`, so the queue is bounded by the memory and a reader that remembers
-- the last `seq` it saw misses nothing. The text itself stays in its table (or, deleted, in `tombstones`).

create table sync_mutations (
    seq integer primary key autoincrement,
    entity text not null check (entity in ('session', 'observation', 'prompt', 'relation', 'project', 'alias')),
    entity_key text not null,
    op text not null check (op in ('upsert', 'delete')),
    project text not null,
    clock text not null,
    occurred_at text not null,
    unique (entity, entity_key)
) strict;
create index sync_mutations_project on sync_mutations (project, seq);

create table sync_state (
    target_key text primary key,
    lifecycle text not null default 'idle'
        check (lifecycle in ('idle', 'pending', 'running', 'healthy', 'degraded', 'inbox')),
    last_pushed_seq integer not null default 0,
    last_pulled_seq integer not null default 0,
    consecutive_failures integer not null default 0,
    backoff_until text,
    lease_owner text,
    lease_until text,
    last_error text,
    last_success_at text,
    reason_code text,
    reason_message text,
    updated_at text not null
) strict;

-- What arrived before what it depends on, or cannot be read; retried, shown, never in the way of the rest.
create table sync_apply_deferred (
    id integer primary key,
    target_key text not null,
    remote_seq integer,
    entity text not null,
    entity_key text not null,
    op text not null,
    payload text not null,
    project text not null default '',
    reason_code text not null,
    apply_status text not null default 'deferred' check (apply_status in ('deferred', 'dead', 'applied')),
    retry_count integer not null default 0,
    last_error text,
    last_attempted_at text,
    first_seen_at text not null,
    unique (target_key, entity, entity_key, op)
) strict;

-- A hard delete leaves the name and the clock, nothing of the text.
create table tombstones (
    entity text not null,
    entity_key text not null,
    project text not null,
    session_id text,
    deleted_at text not null,
    clock text not null,
    primary key (entity, entity_key)
) strict, without rowid;
