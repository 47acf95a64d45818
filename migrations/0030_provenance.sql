-- Where a row came in, recorded by the door it came through: null is this machine, its tools and its hooks. Nothing
-- that a row says of itself sets it. A source is trusted as a whole by the author '*', or author by author.
create table arrivals (
    id integer primary key,
    source text not null,
    author text not null default '',
    name text not null default '',
    trusted_at text,
    unique (source, author)
) strict;

alter table observations add column arrival integer references arrivals (id);
alter table observation_versions add column arrival integer references arrivals (id);
alter table user_prompts add column arrival integer references arrivals (id);
alter table sessions add column arrival integer references arrivals (id);
alter table memory_relations add column arrival integer references arrivals (id);

-- Until now it was read from the device in a row's clock. What was imported, its owner imported on purpose.
insert into arrivals (id, source) values (1, 'earlier');
insert into arrivals (id, source, trusted_at) values (2, 'import', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
update observations set arrival = 2 where origin = 'import';
update observations set arrival = 1
where substr(clock, 19) <> (select value from meta where key = 'device_id');
update user_prompts set arrival = 1
where substr(clock, 19) <> (select value from meta where key = 'device_id');
update sessions set arrival = 1
where length(clock) > 18 and substr(clock, 19) <> (select value from meta where key = 'device_id');
update memory_relations set arrival = 1
where length(clock) > 18 and substr(clock, 19) <> (select value from meta where key = 'device_id');
delete from arrivals
where id not in (
    select arrival from observations where arrival is not null
    union select arrival from user_prompts where arrival is not null
    union select arrival from sessions where arrival is not null
    union select arrival from memory_relations where arrival is not null
);

create index observations_arrival on observations (project, arrival, updated_at desc) where arrival is not null;

-- The places whose `.engram.json` may name a project that has memory of other places: a remote, a git directory or a
-- folder, as the person confirmed, or as the project began there.
create table project_confirmations (
    place text not null,
    project text not null references projects (name) on update cascade on delete cascade,
    created_at text not null,
    primary key (place, project)
) strict;
