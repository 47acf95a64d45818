-- On which days a text was written: a topic that was revised in November belongs to October as well, where it was made.
create index observations_made on observations (created_at) where created_at <> updated_at and deleted_at is null;
create index observation_versions_made on observation_versions (created_at);
