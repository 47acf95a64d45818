-- The files of a folder of readable memories that were seen or written. `blob` is git's name of the bytes, `render` that
-- of the file that the row made then: a row that makes another one changed since.
create table sync_memory_files (
    target text not null,
    name text not null,
    sync_id text not null default '',
    state text not null check (state in ('here', 'branch', 'waits', 'away', 'gone', 'removed', 'refused')),
    size integer not null default 0,
    changed_ns integer not null default 0,
    blob text not null default '',
    render text not null default '',
    reason text not null default '',
    primary key (target, name)
) strict, without rowid;
create index sync_memory_files_of on sync_memory_files (target, sync_id);

-- Up to which change of the queue a folder was written, and how the folder and HEAD stood when it was last read whole.
create table sync_memory_folders (
    target text not null primary key,
    upto_seq integer not null default 0,
    looked text not null default ''
) strict, without rowid;
