-- The topic key that the answer to a save suggested, so that a later save which takes it revises that very row.
-- Known on this machine alone: never exported, never synced.
alter table observations add column suggested_key text;
create index observations_suggested on observations (suggested_key)
where suggested_key is not null and topic_key is null and deleted_at is null;

-- What a session that has no summary of its own left as an observation.
create index observations_summaries on observations (session_id, id)
where type = 'session_summary' and deleted_at is null;
