-- Of two edits that met without knowing of each other one text is taken. The other, a version, waits for a person to choose.
alter table observation_versions add column untaken integer not null default 0;
create index observation_versions_untaken on observation_versions (observation_id) where untaken;
