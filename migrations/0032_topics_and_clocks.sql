-- Which row of a topic is live follows from all rows that claim it, and is worked out again whenever one arrives. A row
-- that is not the one says here which is; its `deleted_at` then hides it on this machine and is no part of its state.
alter table observations add column folded_into text;
create index observations_folded on observations (folded_into) where folded_into is not null;
create index observations_folded_topic on observations (project, scope, topic_key) where folded_into is not null;
create trigger observations_unfold after delete on observations when old.folded_into is not null begin
    delete from observation_versions
    where observation_id = (select id from observations where sync_id = old.folded_into)
      and digest like '-' || old.sync_id || '/%';
end;

-- A state dated far ahead that a change of a true date replaced: `sync_ahead.clock` is the date it is above.
-- Such a state is replaced by one with a smaller clock, and nothing else ever is.
delete from sync_ahead;
create trigger observations_corrected after update of clock on observations when new.clock < old.clock begin
    insert into sync_ahead (entity, entity_key, clock) values ('observation', new.sync_id, old.clock)
    on conflict (entity, entity_key) do update set clock = max(clock, excluded.clock);
end;
-- A stand-in has no date at all.
create trigger sessions_corrected after update of clock on sessions
when new.clock < old.clock and new.clock <> '000000000000-0000-' begin
    insert into sync_ahead (entity, entity_key, clock) values ('session', new.id, old.clock)
    on conflict (entity, entity_key) do update set clock = max(clock, excluded.clock);
end;
create trigger user_prompts_corrected after update of clock on user_prompts when new.clock < old.clock begin
    insert into sync_ahead (entity, entity_key, clock) values ('prompt', new.sync_id, old.clock)
    on conflict (entity, entity_key) do update set clock = max(clock, excluded.clock);
end;
create trigger memory_relations_corrected after update of clock on memory_relations when new.clock < old.clock begin
    insert into sync_ahead (entity, entity_key, clock) values ('relation', new.sync_id, old.clock)
    on conflict (entity, entity_key) do update set clock = max(clock, excluded.clock);
end;

-- A text that is shown with the row that holds its topic has a name that says so, whoever wrote it.
drop trigger versions_derived;
create trigger versions_derived
after insert on observation_versions
when (new.digest is null or new.digest not like '-%') and exists (
    select 1 from observations
    where id = new.observation_id and origin = 'derived' and type = 'session_summary'
) begin
    update observation_versions set digest = '-' || lower(hex(randomblob(15))) where id = new.id;
end;

-- Two states of one row may wait, each for a time of its own.
create table sync_apply_waiting (
    id integer primary key,
    target_key text not null,
    remote_seq integer,
    entity text not null,
    entity_key text not null,
    op text not null,
    payload text not null,
    project text not null default '',
    reason_code text not null,
    apply_status text not null default 'deferred' check (apply_status in ('deferred', 'dead', 'applied')),
    retry_count integer not null default 0,
    last_error text,
    last_attempted_at text,
    first_seen_at text not null,
    waits_for text not null default '',
    clock text not null default '',
    unique (target_key, entity, entity_key, op, clock)
) strict;
insert into sync_apply_waiting
select
    id, target_key, remote_seq, entity, entity_key, op, payload, project, reason_code, apply_status, retry_count,
    last_error, last_attempted_at, first_seen_at, waits_for, clock
from sync_apply_deferred;
drop table sync_apply_deferred;
alter table sync_apply_waiting rename to sync_apply_deferred;
create index sync_apply_deferred_waits on sync_apply_deferred (waits_for) where waits_for <> '';
create index sync_apply_deferred_ahead on sync_apply_deferred (clock) where reason_code = 'dated_ahead';

-- The names that projects had when rows of the server were last judged by them: see sync/autosync/pull.py.
alter table sync_state add column names_judged text not null default '';

-- How many rows of a chunk that is too long for one reading are here: the next one goes on after them. And what a
-- folder's chunks hold when they are unpacked, which is bounded.
create table sync_chunk_progress (
    target text not null,
    chunk text not null,
    done integer not null,
    primary key (target, chunk)
) strict, without rowid;
alter table sync_chunks add column bytes integer not null default 0;
