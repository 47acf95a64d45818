-- Replicas: what other machines sent, and what has to be known to hold the same memory as they do.

-- Any kind of row may travel: one from a newer program is carried without being understood. `source` is the target a
-- change came from ('' when it was made here), so that it is not sent back there.
create table sync_mutations_any (
    seq integer primary key autoincrement,
    entity text not null,
    entity_key text not null,
    op text not null check (op in ('upsert', 'delete')),
    project text not null,
    clock text not null,
    occurred_at text not null,
    source text not null default '',
    unique (entity, entity_key)
) strict;
insert into sync_mutations_any (seq, entity, entity_key, op, project, clock, occurred_at)
select seq, entity, entity_key, op, project, clock, occurred_at from sync_mutations order by seq;
drop table sync_mutations;
alter table sync_mutations_any rename to sync_mutations;
create index sync_mutations_project on sync_mutations (project, seq);

-- 1: destroyed for good, whatever was changed elsewhere meanwhile. 0: it was made personal on the machine that shared
-- it, and comes back when that machine shares it again.
alter table tombstones add column final integer not null default 1;

-- `waits_for` is the observation that has to arrive first; `clock` the one of the waiting change.
alter table sync_apply_deferred add column waits_for text not null default '';
alter table sync_apply_deferred add column clock text not null default '';
create index sync_apply_deferred_waits on sync_apply_deferred (waits_for) where waits_for <> '';

-- The name of a version among the versions of its observation: a hash of its moment and its text, the same on every
-- machine. Null: it was written, or its observation moved, since versions were queued last.
alter table observation_versions add column digest text;
create unique index observation_versions_digest on observation_versions (observation_id, digest);
create index observation_versions_unqueued on observation_versions (observation_id) where digest is null;

-- Rows of kinds this program does not know.
create table sync_carried (
    entity text not null,
    entity_key text not null,
    project text not null,
    payload text not null,
    clock text not null,
    occurred_at text not null,
    primary key (entity, entity_key)
) strict, without rowid;

-- Aliases as they were given: `project_aliases` holds what follows from all of them together.
create table sync_aliases (
    alias text primary key,
    project text not null,
    created_at text not null,
    clock text not null
) strict, without rowid;

-- Rows that an alias moved: the project they were given, as long as their clock is still this one.
create table sync_renamed (
    entity text not null,
    entity_key text not null,
    project text not null,
    clock text not null,
    primary key (entity, entity_key)
) strict, without rowid;

-- Rows dated so far in the future that this machine's clock did not follow. A change here takes a later date yet.
create table sync_ahead (
    entity text not null,
    entity_key text not null,
    clock text not null,
    primary key (entity, entity_key)
) strict, without rowid;

-- Shared observations that were made personal here.
create table sync_withdrawn (
    sync_id text primary key,
    project text not null,
    clock text not null
) strict, without rowid;

-- What must never leave: a personal observation that was destroyed, and the verdicts about it.
create table sync_private (
    entity text not null,
    entity_key text not null,
    primary key (entity, entity_key)
) strict, without rowid;

create trigger observations_withdraw after update of scope on observations
when old.scope <> 'personal' and new.scope = 'personal' begin
    insert or replace into sync_withdrawn (sync_id, project, clock) values (new.sync_id, new.project, new.clock);
end;

create trigger observations_share after update of scope on observations
when old.scope = 'personal' and new.scope <> 'personal' begin
    delete from sync_withdrawn where sync_id = new.sync_id;
    -- A text that was replaced while the observation was personal stays so: its digest begins with a minus.
    update observation_versions set digest = '-' || lower(hex(randomblob(15)))
    where observation_id = new.id and digest is null;
    update observation_versions set digest = null where observation_id = new.id and digest not like '-%';
    insert or replace into sync_mutations (entity, entity_key, op, project, clock, occurred_at)
    select 'relation', sync_id, 'upsert', project, clock, updated_at
    from memory_relations
    where judgment_status <> 'pending' and (source_id = new.sync_id or target_id = new.sync_id);
end;

-- What was said of a row that is destroyed goes with it; the queue stays bounded by the memory.
create trigger observations_end after delete on observations begin
    insert or ignore into sync_private (entity, entity_key)
    select 'observation', old.sync_id where old.scope = 'personal'
    union all
    select 'relation', sync_id from memory_relations
    where old.scope = 'personal' and (source_id = old.sync_id or target_id = old.sync_id);
    delete from sync_mutations
    where entity = 'version' and entity_key >= old.sync_id || '/' and entity_key < old.sync_id || '0';
    delete from sync_withdrawn where sync_id = old.sync_id;
    delete from sync_renamed where entity = 'observation' and entity_key = old.sync_id;
end;

create trigger observations_move after update of project on observations
when old.project <> new.project begin
    update observation_versions set digest = null where observation_id = new.id and digest not like '-%';
end;
