-- The processes a hook was started by, so that the server of the same agent files under the hook's session.
-- Of this machine alone: never synced, never exported.
create table session_hosts (
    session_id text primary key references sessions (id) on update cascade on delete cascade,
    hosts text not null,
    started_at text not null
) strict;
