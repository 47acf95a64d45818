-- Where each word stands: a search reads it instead of FTS5's bm25(), which looks up the length of every row.
create virtual table observations_mentions using fts5vocab('observations_fts', 'instance');
