-- What distilling a session's turns into its summary needs, of this machine alone: never synced, never exported.
-- `distill_state` is null for a session that never had turns. `distill_detail` is a token such as
-- `skipped:low_novelty:79chars`; `distill_tried_at` is when a distiller failed last, `nudged_at` when the agent was
-- reminded that nothing of the session is saved.
alter table sessions add column distill_state text check (distill_state in ('pending', 'done', 'skipped', 'dead'));
alter table sessions add column distill_attempts integer not null default 0;
alter table sessions add column distill_detail text not null default '';
alter table sessions add column distill_tried_at text;
alter table sessions add column last_turn_at text;
alter table sessions add column nudged_at text;
alter table turns add column distilled_at text;

create index sessions_waiting on sessions (project, last_turn_at) where distill_state = 'pending';
create index turns_waiting on turns (session_id, id) where distilled_at is null;

-- The turns of earlier versions wait as well.
update sessions set
    distill_state = 'pending',
    last_turn_at = (select max(read_at) from turns where session_id = sessions.id)
where id in (select session_id from turns);

-- One row for each run of upkeep: what it did, how long it took, and what it cost where a model says so. `counts` is a
-- JSON object of numbers.
create table runs (
    id integer primary key autoincrement,
    pass text not null,
    status text not null check (status in ('done', 'skipped', 'failed')),
    detail text not null default '',
    counts text not null default '{}' check (json_valid(counts)),
    ms integer not null default 0,
    tokens integer not null default 0,
    at text not null
) strict;
create index runs_at on runs (at);

-- A summary that was derived quotes what the person asked, and leaves this machine as little as prompts do: neither do
-- its earlier texts, whoever writes the next.
create trigger versions_derived
after insert on observation_versions
when exists (
    select 1 from observations
    where id = new.observation_id and origin = 'derived' and type = 'session_summary'
) begin
    update observation_versions set digest = '-' || lower(hex(randomblob(15))) where id = new.id;
end;
