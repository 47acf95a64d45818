-- The neighbours of a passage are those of its document: a commit has none.
drop index passages_session;
alter table passages drop column session;
