-- Full-text indexes over observations and prompts. They hold no text of their own (external content), are
-- kept true by triggers, and never see a soft-deleted row. A trigger that fires on `update of` the indexed
-- columns leaves counters and pins free of index work.

create virtual table observations_fts using fts5(
    title, topic_key, aliases, content, terms,
    content = 'observations', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

create trigger observations_fts_insert after insert on observations when new.deleted_at is null begin
    insert into observations_fts (rowid, title, topic_key, aliases, content, terms)
    values (new.id, new.title, new.topic_key, new.aliases, new.content, new.terms);
end;

create trigger observations_fts_delete before delete on observations when old.deleted_at is null begin
    insert into observations_fts (observations_fts, rowid, title, topic_key, aliases, content, terms)
    values ('delete', old.id, old.title, old.topic_key, old.aliases, old.content, old.terms);
end;

create trigger observations_fts_leave
before update of title, topic_key, aliases, content, terms, deleted_at on observations
when old.deleted_at is null begin
    insert into observations_fts (observations_fts, rowid, title, topic_key, aliases, content, terms)
    values ('delete', old.id, old.title, old.topic_key, old.aliases, old.content, old.terms);
end;

create trigger observations_fts_enter
after update of title, topic_key, aliases, content, terms, deleted_at on observations
when new.deleted_at is null begin
    insert into observations_fts (rowid, title, topic_key, aliases, content, terms)
    values (new.id, new.title, new.topic_key, new.aliases, new.content, new.terms);
end;

create virtual table prompts_fts using fts5(
    content, terms,
    content = 'user_prompts', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

create trigger prompts_fts_insert after insert on user_prompts begin
    insert into prompts_fts (rowid, content, terms) values (new.id, new.content, new.terms);
end;

create trigger prompts_fts_delete before delete on user_prompts begin
    insert into prompts_fts (prompts_fts, rowid, content, terms)
    values ('delete', old.id, old.content, old.terms);
end;

create trigger prompts_fts_leave before update of content, terms on user_prompts begin
    insert into prompts_fts (prompts_fts, rowid, content, terms)
    values ('delete', old.id, old.content, old.terms);
end;

create trigger prompts_fts_enter after update of content, terms on user_prompts begin
    insert into prompts_fts (rowid, content, terms) values (new.id, new.content, new.terms);
end;

-- Document frequencies, read by the recall planner.
create virtual table observations_vocab using fts5vocab('observations_fts', 'row');
