-- The state of an agent as it was at some moment of a session, bytes as they came (redacted). Of this machine alone:
-- in no index, never synced, never exported.
create table checkpoints (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on delete cascade,
    content blob not null,
    saved_at text not null
) strict;
create index checkpoints_session on checkpoints (session_id, id);
