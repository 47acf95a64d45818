-- Documents: texts the user owns (files, commit messages), read where they lie and quoted in answers. All of it is
-- derived and of this machine alone: never synced, never exported, made again by an update.

-- A named source of documents. `globs` is a JSON array of patterns; `contexts` a JSON object from a path prefix to what
-- somebody says of the documents below it. Of `git`, `cursor` is the commit whose history is indexed.
create table collections (
    id integer primary key,
    project text not null,
    name text not null,
    kind text not null check (kind in ('git', 'docs', 'folder')),
    root text not null,
    globs text not null default '[]' check (json_valid(globs)),
    contexts text not null default '{}' check (json_valid(contexts)),
    included integer not null default 1 check (included in (0, 1)),
    cursor text not null default '',
    updated_at text,
    created_at text not null,
    unique (project, name)
) strict;

-- `path` is relative to the collection's root; of a commit it is the id. `at` is the time of the commit, or of the
-- file's last change. `status` is what the text says of itself ("superseded by ADR-12"). `files` is a JSON array of the
-- files a commit touched. A document that is gone is not `active` and has no passages.
create table documents (
    id integer primary key,
    collection_id integer not null references collections (id) on delete cascade,
    path text not null,
    title text not null,
    hash text not null,
    size integer not null default 0,
    mtime_ns integer not null default 0,
    author text not null default '',
    at text not null,
    status text not null default '',
    files text not null default '[]' check (json_valid(files)),
    active integer not null default 1 check (active in (0, 1)),
    unique (collection_id, path)
) strict;
create index documents_hash on documents (hash);
create index documents_active on documents (collection_id, active);

-- What a commit says of an earlier one: `target` is the beginning of its id.
create table document_links (
    document_id integer not null references documents (id) on delete cascade,
    kind text not null check (kind in ('reverts', 'fixes')),
    target text not null,
    primary key (document_id, kind, target)
) strict, without rowid;
create index document_links_target on document_links (target);

-- The passages of a document, in its order. The indexed columns are named as those of observations: one search reads
-- both. `title` is the heading or the subject, `aliases` the headings above it, `topic_key` the words of the path.
-- `session` is what its neighbours share: the document, of commits the author and the day.
create table passages (
    id integer primary key,
    document_id integer not null references documents (id) on delete cascade,
    collection_id integer not null references collections (id) on delete cascade,
    session text not null,
    title text not null,
    topic_key text not null default '',
    aliases text not null default '',
    content text not null,
    terms text not null default '',
    first_line integer not null default 1,
    last_line integer not null default 1
) strict;
create index passages_document on passages (document_id);
create index passages_collection on passages (collection_id);
create index passages_session on passages (session, id);

create virtual table passages_fts using fts5(
    title, topic_key, aliases, content, terms,
    content = 'passages', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
create trigger passages_fts_insert after insert on passages begin
    insert into passages_fts (rowid, title, topic_key, aliases, content, terms)
    values (new.id, new.title, new.topic_key, new.aliases, new.content, new.terms);
end;
create trigger passages_fts_delete before delete on passages begin
    insert into passages_fts (passages_fts, rowid, title, topic_key, aliases, content, terms)
    values ('delete', old.id, old.title, old.topic_key, old.aliases, old.content, old.terms);
end;
create virtual table passages_vocab using fts5vocab('passages_fts', 'row');
create virtual table passages_mentions using fts5vocab('passages_fts', 'instance');
