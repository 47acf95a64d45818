-- Sync through a folder of chunks in a git repository. All of it is of this machine alone.

-- `target` names the repository: `git:` and 16 hex digits. `project` is one that may be synced there: the repository's
-- own, or one that somebody named.
create table sync_folders (
    target text not null,
    project text not null,
    created_at text not null,
    primary key (target, project)
) strict, without rowid;

-- The chunks that were seen in the folder, and what became of each; `broken` can be read by nobody. `size` and `signature_size` tell when a file has
-- changed; `policy` is what a refusal, or leaving rows out, was decided by: another one decides again.
create table sync_chunks (
    target text not null,
    chunk text not null,
    state text not null check (state in ('exported', 'imported', 'refused', 'broken')),
    size integer not null,
    signature_size integer not null,
    sha256 text not null,
    device text not null default '',
    created_by text not null default '',
    created_at text not null default '',
    sessions integer not null default 0,
    memories integer not null default 0,
    prompts integer not null default 0,
    version integer not null default 1,
    left_out integer not null default 0,
    reason text not null default '',
    policy text not null default '',
    seen_at text not null,
    primary key (target, chunk)
) strict, without rowid;

-- Which part of the queue of changes a chunk holds: after one number, up to another. `selection` is the project, or ''
-- for all; `chunk` is '' where there was nothing to tell.
create table sync_exports (
    target text not null,
    selection text not null,
    after_seq integer not null,
    upto_seq integer not null,
    chunk text not null default '',
    primary key (target, selection, after_seq, upto_seq)
) strict, without rowid;

-- Changes that the folder has although they came here by another way.
create table sync_present (
    target text not null,
    seq integer not null,
    primary key (target, seq)
) strict, without rowid;

-- Devices whose signatures were seen in the folder. `trusted_at` is null where nobody said that one is to be believed.
create table sync_devices (
    target text not null,
    key text not null,
    device text not null,
    seen_at text not null,
    trusted_at text,
    primary key (target, key)
) strict, without rowid;
