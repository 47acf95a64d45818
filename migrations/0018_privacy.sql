-- What the user switched on or off, of this machine alone: never synced, never exported. `scope` is what it holds for,
-- `name` the project or the session, '' for all.
create table switches (
    scope text not null check (scope in ('all', 'project', 'session')),
    name text not null,
    switch text not null check (switch in ('enabled', 'record', 'inject')),
    is_on integer not null check (is_on in (0, 1)),
    primary key (scope, name, switch)
) strict, without rowid;

-- Projects are merged by leaving an alias behind. What was off stays off.
create trigger switches_project
after insert on project_aliases begin
    update or ignore switches set name = new.project where scope = 'project' and name = new.alias;
    update switches set is_on = 0
    where scope = 'project' and name = new.project and switch in (
        select switch from switches where scope = 'project' and name = new.alias and is_on = 0
    );
    delete from switches where scope = 'project' and name = new.alias;
end;

-- Which turns are too old is asked whenever one is added.
drop index turns_waiting;
create index turns_age on turns (read_at);

-- Nobody ever read these.
alter table turns drop column distilled_at;
alter table citations drop column first_at;
alter table sync_chunks drop column seen_at;
alter table sync_devices drop column seen_at;
alter table cloud_projects drop column enrolled_at;
