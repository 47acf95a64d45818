-- What somebody says beside a fact: its category, the kind of source it came from, and which one that was.
alter table observations add column category text;
alter table observations add column source text;
alter table observations add column source_ref text;
