-- What was said is found by its words: the same index as that of prompts, over the turns of this machine.
alter table turns add column terms text not null default '';

create virtual table turns_fts using fts5(
    content, terms,
    content = 'turns', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

create trigger turns_fts_insert after insert on turns begin
    insert into turns_fts (rowid, content, terms) values (new.id, new.content, new.terms);
end;

create trigger turns_fts_delete before delete on turns begin
    insert into turns_fts (turns_fts, rowid, content, terms) values ('delete', old.id, old.content, old.terms);
end;

create trigger turns_fts_leave before update of content, terms on turns begin
    insert into turns_fts (turns_fts, rowid, content, terms) values ('delete', old.id, old.content, old.terms);
end;

create trigger turns_fts_enter after update of content, terms on turns begin
    insert into turns_fts (rowid, content, terms) values (new.id, new.content, new.terms);
end;

insert into turns_fts (rowid, content, terms) select id, content, terms from turns order by id;
