-- How far the weight of a derived observation has faded, and as of when: reckoned by each machine from its own use, and
-- so of this machine alone. What a reader sees is `salience * faded`; the weight itself is never changed by time.
alter table observations add column faded real not null default 1.0;
alter table observations add column faded_at text;
create index observations_derived on observations (id)
where origin = 'derived' and deleted_at is null and lifecycle = 'active';
