-- The neighbours of a row in its session, which every search asks for, are found in the index alone.
drop index observations_session;
create index observations_session on observations (session_id, deleted_at, id);
