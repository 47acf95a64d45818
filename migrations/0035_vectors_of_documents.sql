-- Vectors of the passages of documents, as `observation_vectors` are of memories. A commit has none: a history is long,
-- and its subjects are found by their words.
create table passage_vectors (
    seq integer primary key autoincrement,
    passage_id integer not null references passages (id) on delete cascade,
    embedder_id integer not null references embedders (id) on delete cascade,
    text_hash text not null,
    vectors blob not null,
    stale integer not null default 0 check (stale in (0, 1)),
    unique (passage_id, embedder_id)
) strict;
create index passage_vectors_reader on passage_vectors (embedder_id, seq);
create index passage_vectors_stale on passage_vectors (embedder_id, passage_id) where stale = 1;

-- An update writes the passages of a changed document anew, under ids that may have been another's: each new one is
-- marked as one to compute, and so are all for a new model.
create trigger passage_vectors_new_passage after insert on passages
when (select kind from collections where id = new.collection_id) <> 'git' begin
    insert into passage_vectors (passage_id, embedder_id, text_hash, vectors, stale)
    select new.id, id, '', x'', 1 from embedders;
end;

create trigger passage_vectors_new_embedder after insert on embedders begin
    insert into passage_vectors (passage_id, embedder_id, text_hash, vectors, stale)
    select passages.id, new.id, '', x'', 1
    from passages join collections on collections.id = collection_id
    where kind <> 'git';
end;

insert into passage_vectors (passage_id, embedder_id, text_hash, vectors, stale)
select passages.id, embedders.id, '', x'', 1
from passages join collections on collections.id = collection_id join embedders
where kind <> 'git';
