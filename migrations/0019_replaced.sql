-- What a judged relation says is replaced becomes historical: see observations/relations_table.py, whose rule this is, once for all
-- rows. An archived one stays so.
with recursive
verdicts as materialized (
    select
        memory_relations.sync_id as verdict, source_id as newer, target_id as older,
        memory_relations.updated_at as at, memory_relations.clock
    from memory_relations
    join observations as new on new.sync_id = source_id
    join observations as old on old.sync_id = target_id
    where relation = 'supersedes' and judgment_status = 'judged' and superseded_at is null and source_id <> target_id
      and (new.scope = 'global'
          or (new.scope = old.scope and (new.scope = 'personal' or new.project = old.project)))
),
below (verdict, sync_id) as (
    select verdict, older from verdicts
    union
    select below.verdict, next.older
    from below
    join verdicts as this on this.verdict = below.verdict
    join verdicts as next
      on next.newer = below.sync_id and (next.at, next.clock, next.verdict) > (this.at, this.clock, this.verdict)
),
counting as materialized (
    select newer, older from verdicts
    where (verdict, newer) not in (select verdict, sync_id from below)
),
above (older, newer) as (
    select older, newer from counting
    union
    select above.older, counting.newer from above join counting on counting.older = above.newer
),
replaced (sync_id) as (
    select older from above join observations on sync_id = newer where deleted_at is null
)
update observations
set lifecycle = iif(sync_id in (select sync_id from replaced), 'historical', 'active')
where lifecycle = iif(sync_id in (select sync_id from replaced), 'active', 'historical');
