-- What the hooks of an agent leave: how far its transcripts were read, the turns that wait to be distilled, which
-- observations it was given unasked, and which of them it cited. All of it is of this machine alone: never synced,
-- never exported, and bounded.

-- How far a transcript was read. `identity` is the file's device and inode, `head` the hash of its first `head_bytes`:
-- a file that was replaced or cut is read from its beginning again.
create table transcripts (
    path text primary key,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    identity text not null,
    head text not null,
    head_bytes integer not null,
    position integer not null,
    read_at text not null
) strict;
create index transcripts_session on transcripts (session_id);
create index transcripts_age on transcripts (read_at);

-- One raw message, redacted. `key` is the agent's own name of the message or a hash of it, so that reading twice adds
-- nothing; `position` is where it stood in the transcript; `agent` is the subagent that spoke, empty for the main one.
create table turns (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    project text not null,
    agent text not null default '',
    key text not null,
    position integer not null,
    role text not null check (role in ('user', 'assistant')),
    content text not null,
    said_at text,
    read_at text not null,
    distilled_at text,
    unique (session_id, key)
) strict;
create index turns_order on turns (session_id, id);
create index turns_waiting on turns (project, id) where distilled_at is null;

-- Which observation was shown to which session unasked, and where: at its start, with a prompt, before a file was
-- edited. `bytes` is what it took of the text; `visible` ends with the context window it was shown in.
create table injections (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    observation_id integer not null references observations (id) on delete cascade,
    surface text not null,
    times integer not null default 1,
    bytes integer not null default 0,
    visible integer not null default 1 check (visible in (0, 1)),
    injected_at text not null,
    unique (session_id, observation_id, surface)
) strict;
create index injections_observation on injections (observation_id, session_id);

-- `[#12]` in an agent's own words. `injected`: the session had been given it unasked.
create table citations (
    id integer primary key autoincrement,
    session_id text not null references sessions (id) on update cascade on delete cascade,
    observation_id integer not null references observations (id) on delete cascade,
    times integer not null default 1,
    injected integer not null default 0 check (injected in (0, 1)),
    first_at text not null,
    last_at text not null,
    unique (session_id, observation_id)
) strict;
create index citations_observation on citations (observation_id, session_id);

-- Projects are merged by moving their sessions.
create trigger turns_project
after update of project on sessions
when new.project <> old.project begin
    update turns set project = new.project where session_id = new.id;
end;

-- A prompt that is destroyed on purpose must not live on as a turn, which holds the beginning of a long one.
create trigger turns_forgotten
after delete on user_prompts begin
    delete from turns
    where session_id = old.session_id and role = 'user'
      and (content = old.content or (length(content) > 1000 and content = substr(old.content, 1, length(content))));
end;
