-- What people and agents changed on this machine, so that it can be taken back: the latest thousand, never synced. What
-- one transaction changes is one change.
create table changes (
    id integer primary key autoincrement,
    made_at text not null
) strict;

-- A row that it changed, with its columns before and after as JSON. `text` names the version that holds the text before
-- by its clock, and the hash of the text after. `undoes` is what this change took back, `undone` whether it was taken
-- back itself.
create table changed (
    id integer primary key autoincrement,
    change_id integer not null references changes (id) on delete cascade,
    entity text not null check (entity in ('observation', 'relation', 'projects')),
    entity_key text not null,
    observation_id integer references observations (id) on delete cascade,
    other_id integer references observations (id) on delete cascade,
    before text not null,
    after text not null,
    undoes integer,
    undone integer not null default 0 check (undone in (0, 1))
) strict;
create index changed_change on changed (change_id);
create index changed_observation on changed (observation_id);
create index changed_other on changed (other_id);
