-- Accounts, what each may read and write, and the latest state of every row that was pushed.

create table cloud_facts (
    name text primary key,
    value text not null
);

-- Tells clients that they talk to the database they talked to before.
insert into cloud_facts (name, value) values ('instance', gen_random_uuid()::text);

create table cloud_principals (
    id bigint generated always as identity primary key,
    name text collate "C" not null unique,
    kind text not null check (kind in ('human', 'service')),
    role text not null check (role in ('admin', 'member')),
    enabled boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create table cloud_tokens (
    id bigint generated always as identity primary key,
    principal_id bigint not null references cloud_principals (id),
    prefix text not null,
    token_hash text not null unique,
    name text not null default '',
    created_by text not null,
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz,
    revoked_by text,
    revocation_reason text
);

create index cloud_tokens_principal on cloud_tokens (principal_id);

-- The project `*` stands for every project, those to come included.
create table cloud_project_grants (
    principal_id bigint not null references cloud_principals (id),
    project text collate "C" not null,
    access text not null check (access in ('read', 'write')),
    granted_by text not null,
    created_at timestamptz not null default now(),
    primary key (principal_id, project)
);

-- latest_seq is the highest seq of the project's rows, 0 while it has none.
create table cloud_projects (
    name text collate "C" primary key,
    latest_seq bigint not null default 0,
    paused_at timestamptz,
    paused_by text,
    paused_reason text,
    created_at timestamptz not null default now()
);

-- One row. Whoever writes rows updates it first, and holds it until the commit: seqs become visible in their order.
create table cloud_sequence (
    one boolean primary key default true check (one),
    last_seq bigint not null default 0
);

insert into cloud_sequence default values;

-- Rows are read by project and then by seq, and there is no index on seq alone: with it, an account of one small
-- project would now and then wait for a scan over everybody else's rows.
-- The payload is text: jsonb would write its numbers anew, and a payload's fingerprint is over what was written.
create table cloud_mutations (
    project text collate "C" not null references cloud_projects (name),
    seq bigint not null,
    entity text collate "C" not null,
    entity_key text collate "C" not null,
    op text not null check (op in ('upsert', 'delete')),
    clock text collate "C" not null,
    fingerprint text collate "C" not null,
    payload text not null,
    payload_bytes integer not null,
    occurred_at text not null,
    principal_id bigint not null references cloud_principals (id),
    device text not null,
    received_at timestamptz not null default now(),
    primary key (project, seq),
    unique (project, entity, entity_key)
);

create table cloud_chunks (
    project text collate "C" not null references cloud_projects (name),
    chunk_id text collate "C" not null,
    sha256 text not null,
    payload bytea not null,
    created_by text not null,
    client_created_at text not null,
    created_at timestamptz not null default now(),
    sessions integer not null,
    memories integer not null,
    prompts integer not null,
    primary key (project, chunk_id)
);

-- Who did what, to which project, how it ended and how many rows it was about; never what the rows say.
create table cloud_audit_log (
    id bigint generated always as identity primary key,
    occurred_at timestamptz not null default now(),
    actor text not null,
    action text not null,
    project text not null default '',
    target text not null default '',
    outcome text not null,
    reason_code text not null default '',
    entries integer not null default 0
);

create index cloud_audit_log_time on cloud_audit_log (occurred_at);
