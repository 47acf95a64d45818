-- Vectors: what an embedder made of the observations. Derived and local: never synced, never exported, and empty
-- while no embedder is set.

-- A model that vectors were made with. `probe` is its vector of a fixed sentence: a model that answers another one
-- under the same name is another model. Every observation up to `done_to` has its row below, or needs none.
-- `lease_owner` is the process that computes just now, until `lease_until`.
create table embedders (
    id integer primary key,
    name text not null unique,
    dimension integer not null,
    probe blob not null,
    done_to integer not null default 0,
    lease_owner text,
    lease_until text,
    created_at text not null,
    used_at text not null
) strict;

-- One row per observation and model. `vectors` holds one vector of signed bytes per passage, one after the other;
-- its direction is all that counts, so no scale is kept. It is empty where there was nothing to embed. `text_hash`
-- is of the text that was embedded. A row that is written again takes a new `seq`: a reader that remembers the last
-- one it saw misses nothing.
create table observation_vectors (
    seq integer primary key autoincrement,
    observation_id integer not null references observations (id) on delete cascade,
    embedder_id integer not null references embedders (id) on delete cascade,
    text_hash text not null,
    vectors blob not null,
    stale integer not null default 0 check (stale in (0, 1)),
    unique (observation_id, embedder_id)
) strict;
create index observation_vectors_reader on observation_vectors (embedder_id, seq);
create index observation_vectors_stale on observation_vectors (embedder_id, observation_id) where stale = 1;

-- How far a model is to be trusted with the texts of one project ('' being all) in one script ('' being any): the
-- mean reciprocal rank of a passage's rest when one of its sentences is asked for, over `asked` passages; `rows` is how
-- many observations there were then.
create table vector_trust (
    embedder_id integer not null references embedders (id) on delete cascade,
    project text not null,
    script text not null,
    trust real not null,
    asked integer not null,
    rows integer not null,
    primary key (embedder_id, project, script)
) strict, without rowid;

-- A text that changed needs a new vector; one that comes back after a delete needs its first.
create trigger observation_vectors_stale_text
after update of title, content, aliases on observations
when new.title <> old.title or new.content <> old.content or new.aliases <> old.aliases begin
    update observation_vectors set stale = 1 where observation_id = new.id;
end;

create trigger observation_vectors_back
after update of deleted_at on observations
when old.deleted_at is not null and new.deleted_at is null begin
    insert or ignore into observation_vectors (observation_id, embedder_id, text_hash, vectors, stale)
    select new.id, id, '', x'', 1 from embedders;
end;
