-- What a prompt would have been given can be held back as well.
create table moments_of_prompts (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    observation_id integer not null references observations (id) on delete cascade,
    kind text not null check (kind in ('guard', 'fix', 'file', 'prompt')),
    subject text not null,
    given integer not null check (given in (0, 1)),
    bytes integer not null default 0,
    outcome text not null default '' check (outcome in ('', 'heeded', 'ignored', 'repeated', 'overruled', 'undone')),
    given_at text not null,
    outcome_at text
) strict;
insert into moments_of_prompts select * from moments;
drop table moments;
alter table moments_of_prompts rename to moments;
create index moments_observation on moments (observation_id, kind);
create index moments_session on moments (session_id, kind, outcome);

-- Memories that did more harm than help: since `retired_at` none is given unasked, until somebody reviews it. What
-- happened before `reviewed_at` does not count against it any more.
create table retirements (
    observation_id integer primary key references observations (id) on delete cascade,
    retired_at text,
    reviewed_at text not null default ''
) strict;

-- A new text is another memory.
create trigger retirements_new_text after insert on observation_versions begin
    update retirements set retired_at = null where observation_id = new.observation_id;
end;
