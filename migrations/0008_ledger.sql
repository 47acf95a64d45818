-- What the memory costs: how many bytes of answers and injections each session was given, and which observations its
-- tools showed it. Numbers and ids, no text; of this machine alone, never synced, never exported, and bounded.

-- One row for a session, a day (UTC) and a door: the tool, the hook's event or the route that answered. A session that
-- only asked has no row in `sessions`, and its project stands here alone.
create table ledger (
    id integer primary key autoincrement,
    session_id text not null,
    project text not null,
    day text not null,
    door text not null check (door in ('hook', 'mcp', 'http')),
    name text not null,
    calls integer not null,
    bytes integer not null,
    unique (session_id, day, door, name)
) strict;

-- Which observation was shown to which session because it asked; `bytes` is its share of those answers.
create table recalls (
    id integer primary key autoincrement,
    session_id text not null,
    observation_id integer not null references observations (id) on delete cascade,
    times integer not null,
    bytes integer not null,
    recalled_at text not null,
    unique (session_id, observation_id)
) strict;
create index recalls_observation on recalls (observation_id);

-- A session's id may be anything somebody chose: when it goes, nothing that names it stays.
create trigger ledger_forgotten
after delete on sessions begin
    delete from ledger where session_id = old.id;
    delete from recalls where session_id = old.id;
end;

-- Projects are merged by leaving an alias behind.
create trigger ledger_project
after insert on project_aliases begin
    update ledger set project = new.project where project = new.alias;
end;
