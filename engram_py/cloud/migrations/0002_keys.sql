-- Whether another project holds a row is asked by the row's key alone.
create index cloud_mutations_key on cloud_mutations (entity_key, entity);

-- The keys of the rows a chunk holds, which are taken out of it when they are destroyed. Null for a chunk of before:
-- that one is looked into.
alter table cloud_chunks add column row_keys text[];
create index cloud_chunks_row_keys on cloud_chunks using gin (row_keys);
