-- The terms of a passage are derived again where a version of the program derives others: the index follows, as those of
-- the other tables do.
create trigger passages_fts_leave before update of title, topic_key, aliases, content, terms on passages begin
    insert into passages_fts (passages_fts, rowid, title, topic_key, aliases, content, terms)
    values ('delete', old.id, old.title, old.topic_key, old.aliases, old.content, old.terms);
end;

create trigger passages_fts_enter after update of title, topic_key, aliases, content, terms on passages begin
    insert into passages_fts (rowid, title, topic_key, aliases, content, terms)
    values (new.id, new.title, new.topic_key, new.aliases, new.content, new.terms);
end;
