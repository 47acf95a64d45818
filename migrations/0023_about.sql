-- The entity that a fact is about, by its slug; what is known of the entity itself has the topic `entity/<slug>`.
alter table observations add column about text;
create index observations_about on observations (about) where about is not null and deleted_at is null;
