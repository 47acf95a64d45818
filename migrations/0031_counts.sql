-- How many there are of each kind, so that nobody has to read them to know: `type` is the type of a live observation,
-- empty for other kinds; `project` is empty where nobody asks by project. Triggers keep them, whoever writes.
create table counts (
    kind text not null check (kind in ('observation', 'deleted', 'session', 'prompt', 'relation', 'version')),
    project text not null,
    type text not null,
    number integer not null,
    primary key (kind, project, type)
) strict, without rowid;

insert into counts
select iif(deleted_at is null, 'observation', 'deleted'), project, iif(deleted_at is null, type, ''), count(*)
from observations group by 1, 2, 3
union all select 'session', project, '', count(*) from sessions group by project
union all select 'prompt', project, '', count(*) from user_prompts group by project
union all select 'relation', project, '', count(*) from memory_relations group by project
union all select 'version', '', '', count(*) from observation_versions;

-- Not an upsert: in a trigger the `or replace` of the statement outside would take its place.
create trigger counts_observation_insert after insert on observations begin
    insert into counts select iif(new.deleted_at is null, 'observation', 'deleted'), new.project,
        iif(new.deleted_at is null, new.type, ''), 0
    where not exists (
        select 1 from counts where kind = iif(new.deleted_at is null, 'observation', 'deleted')
            and project = new.project and type = iif(new.deleted_at is null, new.type, '')
    );
    update counts set number = number + 1 where kind = iif(new.deleted_at is null, 'observation', 'deleted')
        and project = new.project and type = iif(new.deleted_at is null, new.type, '');
end;

create trigger counts_observation_delete after delete on observations begin
    update counts set number = number - 1 where kind = iif(old.deleted_at is null, 'observation', 'deleted')
        and project = old.project and type = iif(old.deleted_at is null, old.type, '');
end;

create trigger counts_observation_update after update of project, type, deleted_at on observations
when old.project <> new.project or old.type <> new.type or (old.deleted_at is null) <> (new.deleted_at is null) begin
    update counts set number = number - 1 where kind = iif(old.deleted_at is null, 'observation', 'deleted')
        and project = old.project and type = iif(old.deleted_at is null, old.type, '');
    insert into counts select iif(new.deleted_at is null, 'observation', 'deleted'), new.project,
        iif(new.deleted_at is null, new.type, ''), 0
    where not exists (
        select 1 from counts where kind = iif(new.deleted_at is null, 'observation', 'deleted')
            and project = new.project and type = iif(new.deleted_at is null, new.type, '')
    );
    update counts set number = number + 1 where kind = iif(new.deleted_at is null, 'observation', 'deleted')
        and project = new.project and type = iif(new.deleted_at is null, new.type, '');
end;

create trigger counts_session_insert after insert on sessions begin
    insert into counts select 'session', new.project, '', 0
    where not exists (select 1 from counts where kind = 'session' and project = new.project and type = '');
    update counts set number = number + 1 where kind = 'session' and project = new.project and type = '';
end;

create trigger counts_session_delete after delete on sessions begin
    update counts set number = number - 1 where kind = 'session' and project = old.project and type = '';
end;

create trigger counts_session_update after update of project on sessions when old.project <> new.project begin
    update counts set number = number - 1 where kind = 'session' and project = old.project and type = '';
    insert into counts select 'session', new.project, '', 0
    where not exists (select 1 from counts where kind = 'session' and project = new.project and type = '');
    update counts set number = number + 1 where kind = 'session' and project = new.project and type = '';
end;

create trigger counts_prompt_insert after insert on user_prompts begin
    insert into counts select 'prompt', new.project, '', 0
    where not exists (select 1 from counts where kind = 'prompt' and project = new.project and type = '');
    update counts set number = number + 1 where kind = 'prompt' and project = new.project and type = '';
end;

create trigger counts_prompt_delete after delete on user_prompts begin
    update counts set number = number - 1 where kind = 'prompt' and project = old.project and type = '';
end;

create trigger counts_prompt_update after update of project on user_prompts when old.project <> new.project begin
    update counts set number = number - 1 where kind = 'prompt' and project = old.project and type = '';
    insert into counts select 'prompt', new.project, '', 0
    where not exists (select 1 from counts where kind = 'prompt' and project = new.project and type = '');
    update counts set number = number + 1 where kind = 'prompt' and project = new.project and type = '';
end;

create trigger counts_relation_insert after insert on memory_relations begin
    insert into counts select 'relation', new.project, '', 0
    where not exists (select 1 from counts where kind = 'relation' and project = new.project and type = '');
    update counts set number = number + 1 where kind = 'relation' and project = new.project and type = '';
end;

create trigger counts_relation_delete after delete on memory_relations begin
    update counts set number = number - 1 where kind = 'relation' and project = old.project and type = '';
end;

create trigger counts_relation_update after update of project on memory_relations when old.project <> new.project begin
    update counts set number = number - 1 where kind = 'relation' and project = old.project and type = '';
    insert into counts select 'relation', new.project, '', 0
    where not exists (select 1 from counts where kind = 'relation' and project = new.project and type = '');
    update counts set number = number + 1 where kind = 'relation' and project = new.project and type = '';
end;

create trigger counts_version_insert after insert on observation_versions begin
    update counts set number = number + 1 where kind = 'version';
end;

create trigger counts_version_delete after delete on observation_versions begin
    update counts set number = number - 1 where kind = 'version';
end;

-- The latest sessions that left a summary, of their own or as an observation.
create index sessions_told on sessions (project, started_at desc) where summary <> '';
create index sessions_told_newest on sessions (started_at desc) where summary <> '';
create index observations_told on observations (project, updated_at desc, session_id)
where type = 'session_summary' and deleted_at is null;
create index observations_told_newest on observations (updated_at desc, session_id)
where type = 'session_summary' and deleted_at is null;

-- The notes of a few days.
create index observations_notes on observations (project, created_at desc, id desc)
where type = 'note' and deleted_at is null;

-- What a session start asks for of rows that are few among many.
create index observations_pinned_newest on observations (updated_at desc, id desc)
where pinned = 1 and deleted_at is null;
create index observations_pinned_shared on observations (updated_at desc, id desc)
where pinned = 1 and scope <> 'project' and deleted_at is null;
create index observations_overrides on observations (scope, project, created_at, id)
where pinned = 1 and type = 'identity' and deleted_at is null;
create index observations_person on observations (type, updated_at desc, id desc)
where scope = 'personal' and deleted_at is null;
create index observations_shared_of on observations (project) where scope <> 'project' and deleted_at is null;
