-- What other people signed, for whoever reads the row from here: they alone can make it. It is of the row at this clock.
create table signatures (
    entity text not null,
    entity_key text not null,
    clock text not null,
    signature text not null,
    primary key (entity, entity_key)
) strict, without rowid;

-- Trust has the size of what was asked: of these authors, in this project. Without a time the answer was no.
create table trusted (
    arrival integer not null references arrivals (id) on delete cascade,
    project text not null,
    trusted_at text,
    primary key (arrival, project)
) strict, without rowid;

-- Until now trust of a source reached all of its projects, and made its rows the user's own. What the user imported and
-- trusted, they said to be theirs; of other sources the rows that are here stay trusted, as the project's.
insert into trusted (arrival, project, trusted_at)
select distinct arrivals.id, observations.project, arrivals.trusted_at
from arrivals join observations on observations.arrival = arrivals.id
where arrivals.trusted_at is not null and arrivals.source <> 'import';
insert or ignore into trusted (arrival, project, trusted_at)
select everybody.id, observations.project, everybody.trusted_at
from arrivals as everybody
join arrivals as one on one.source = everybody.source
join observations on observations.arrival = one.id
where everybody.author = '*' and everybody.source <> 'import';

update observations set arrival = null
where arrival in (select id from arrivals where source = 'import' and trusted_at is not null);
update observation_versions set arrival = null
where arrival in (select id from arrivals where source = 'import' and trusted_at is not null);
update user_prompts set arrival = null
where arrival in (select id from arrivals where source = 'import' and trusted_at is not null);
update sessions set arrival = null
where arrival in (select id from arrivals where source = 'import' and trusted_at is not null);
update memory_relations set arrival = null
where arrival in (select id from arrivals where source = 'import' and trusted_at is not null);

alter table arrivals drop column trusted_at;

-- Under which key the files of a folder were written last: those of another key are signed anew.
alter table sync_memory_folders add column signed_by text not null default '';

-- What may be given is read in the order of its changes, however many rows of others there are.
create index observations_own on observations (project, updated_at desc, id desc)
where arrival is null and deleted_at is null;
create index observations_own_pinned on observations (project, updated_at desc, id desc)
where arrival is null and deleted_at is null and pinned = 1;
create index observations_own_shared on observations (updated_at desc, id desc)
where arrival is null and deleted_at is null and scope <> 'project';
drop index observations_arrival;
create index observations_arrival on observations (project, arrival, updated_at desc, id desc)
where arrival is not null;
