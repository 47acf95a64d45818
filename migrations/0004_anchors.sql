-- Which files an observation is about, and how to tell later whether they still say the same. No code is kept:
-- `digest` and `file_digest` are hashes, `probe` is where the span's longest line stands in it, its length and its
-- checksum. `start_line` null means the whole file; `digest` null that the file could not be read, `reason` why.

create table anchors (
    id integer primary key,
    observation_id integer not null references observations (id) on delete cascade,
    path text not null,
    name text not null,
    start_line integer,
    end_line integer,
    origin text not null default 'given' check (origin in ('given', 'where')),
    digest text,
    probe text,
    copies integer not null default 1,
    ordinal integer not null default 0,
    file_digest text,
    blob text,
    git_commit text,
    reason text,
    recorded_at text not null,
    check ((start_line is null) = (end_line is null))
) strict;
create index anchors_observation on anchors (observation_id, id);
create index anchors_name on anchors (name, observation_id);

-- What git was asked once and will answer the same for ever: HEAD is part of the question. Derived and local.
create table git_answers (
    repository text not null,
    head text not null,
    question text not null,
    answer text not null,
    asked_at text not null,
    primary key (repository, head, question)
) strict, without rowid;
