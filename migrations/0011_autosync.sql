-- A server that keeps this memory in step with others: where this machine is logged in, which projects go there, how far
-- each has come. Of this machine alone: none of it is synced or exported.

-- Nothing was written to it so far. One row per target; `cloud` is the server.
drop table sync_state;
create table sync_state (
    target_key text primary key,
    phase text not null default 'idle' check (phase in (
        'idle', 'pushing', 'pulling', 'push_failed', 'pull_failed', 'backoff', 'healthy', 'disabled'
    )),
    reason_code text not null default '',
    reason_message text not null default '',
    push_failures integer not null default 0,
    push_backoff_until text,
    pull_failures integer not null default 0,
    pull_backoff_until text,
    lease_owner text,
    lease_until text,
    -- The first digits of the hash of a token that the server does not take: it is not asked with it again.
    refused_token text not null default '',
    -- What tells the server's database from another one.
    instance text not null default '',
    last_attempt_at text,
    last_success_at text,
    notice text not null default ''
) strict;

-- The token itself is in the keychain or in a file.
create table cloud_logins (
    id integer primary key check (id = 1),
    server text not null,
    principal text not null,
    role text not null default '',
    token_expires_at text,
    kept_in text not null check (kept_in in ('keychain', 'file')),
    insecure integer not null default 0 check (insecure in (0, 1)),
    logged_in_at text not null
) strict;

-- What may be sent where. `pushed_seq` is a place in `sync_mutations`, `pulled_seq` one in the server's log, `seen_seq`
-- the newest of the project when it was last pulled to the end. Up to `resend_upto` also what once came from a server is
-- sent: this server may not have it.
create table cloud_projects (
    server text not null,
    project text not null,
    pushed_seq integer not null default 0,
    pulled_seq integer not null default 0,
    seen_seq integer not null default 0,
    resend_upto integer not null default 0,
    access text not null default '' check (access in ('', 'read', 'write', 'none', 'paused')),
    push_reason text not null default '',
    pull_reason text not null default '',
    enrolled_at text not null,
    primary key (server, project)
) strict, without rowid;

-- Rows that one side did not take, and why. They are in nobody's way and are tried again when they change, or when asked.
create table sync_set_aside (
    id integer primary key,
    server text not null,
    direction text not null check (direction in ('push', 'pull')),
    entity text not null,
    entity_key text not null,
    project text not null,
    remote_seq integer not null default 0,
    reason_code text not null,
    reason text not null,
    repairable integer not null default 0 check (repairable in (0, 1)),
    tries integer not null default 1,
    first_seen_at text not null,
    last_seen_at text not null,
    unique (server, direction, entity, entity_key)
) strict;
