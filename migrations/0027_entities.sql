-- What an entity is (person, service, library); its own row is the observation with the topic `entity/<slug>`.
alter table observations add column entity_kind text;

create index observations_entity on observations (project, topic_key)
    where topic_key >= 'entity/' and topic_key < 'entity0' and deleted_at is null;
-- Those that other names lead to, or that were merged into another: few, and asked for by every fact.
create index observations_entity_named on observations (project)
    where topic_key >= 'entity/' and topic_key < 'entity0' and deleted_at is null
    and (aliases <> '' or lifecycle = 'historical');

-- The names that rows, prompts and turns mention, counted on this machine: derived, never synced, never exported.
-- `claimed`: somebody called it theirs ("my colleague …"). `plain` counts the rows that have it as a common word.
create table entity_names (
    project text not null,
    slug text not null,
    name text not null,
    kind text,
    claimed integer not null default 0,
    plain integer not null default 0,
    seen_at text not null,
    primary key (project, slug)
) strict, without rowid;

-- `unit` is what counts once: an observation, or a session with all that was said in it. `strong`: it is written as a
-- name there, not only at the beginning of a sentence.
create table entity_mentions (
    project text not null,
    slug text not null,
    unit text not null,
    observation_id integer references observations (id) on delete cascade,
    session_id text references sessions (id) on update cascade on delete cascade,
    strong integer not null default 0,
    primary key (project, slug, unit)
) strict, without rowid;
create index entity_mentions_observation on entity_mentions (observation_id) where observation_id is not null;
create index entity_mentions_session on entity_mentions (session_id) where session_id is not null;

-- A name that nothing mentions any more is forgotten with the last text that had it.
create trigger entity_mentions_gone after delete on entity_mentions
when not exists (select 1 from entity_mentions where project = old.project and slug = old.slug)
begin
    delete from entity_names where project = old.project and slug = old.slug;
end;

create trigger entity_mentions_deleted after update of deleted_at on observations
when new.deleted_at is not null and old.deleted_at is null
begin
    delete from entity_mentions where observation_id = old.id;
end;
