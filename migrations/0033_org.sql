-- The organisation that Engram writes with an observation: carried through import, export and sync, and asked of nothing.
alter table observations add column org text;
