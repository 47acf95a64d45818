-- What a decision guards: a JSON list of rules, part of the row and carried wherever it goes.
alter table observations add column guards text;
create index observations_guards on observations (project) where guards is not null and deleted_at is null;

-- Commands that failed in a session of this machine, and the memory of what made the same command pass.
create table failures (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    command text not null,
    directory text not null,
    signature text not null,
    excerpt text not null,
    git_commit text,
    times integer not null default 1,
    failed_at text not null,
    passed_at text,
    observation_id integer references observations (id) on delete set null
) strict;
create index failures_open on failures (session_id) where passed_at is null;
create index failures_fix on failures (observation_id);

-- What the agent did while a failure of its session was open: `command` or `file`.
create table repairs (
    id integer primary key autoincrement,
    failure_id integer not null references failures (id) on delete cascade,
    kind text not null check (kind in ('command', 'file')),
    name text not null,
    done_at text not null,
    unique (failure_id, kind, name)
) strict;

-- Moments in which a memory spoke unasked because of what an agent was doing, or was held back (`given` 0), and what
-- came of it.
create table moments (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    observation_id integer not null references observations (id) on delete cascade,
    kind text not null check (kind in ('guard', 'fix', 'file')),
    subject text not null,
    given integer not null check (given in (0, 1)),
    bytes integer not null default 0,
    outcome text not null default '' check (outcome in ('', 'heeded', 'ignored', 'repeated', 'overruled', 'undone')),
    given_at text not null,
    outcome_at text
) strict;
create index moments_observation on moments (observation_id, kind);
create index moments_session on moments (session_id, kind, outcome);

-- Guards that somebody silenced for a session.
create table silences (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    observation_id integer not null references observations (id) on delete cascade,
    silenced_at text not null,
    unique (session_id, observation_id)
) strict;
