-- A shared observation that was made personal and then destroyed: the others know of it, and are told that it is gone.
-- Before, its end stayed as private as that of one that never left, and who had not heard of the withdrawal kept it.
drop trigger observations_end;

create trigger observations_end after delete on observations begin
    insert or ignore into sync_private (entity, entity_key)
    select 'observation', old.sync_id
    where old.scope = 'personal' and old.sync_id not in (select sync_id from sync_withdrawn)
    union all
    select 'relation', sync_id from memory_relations
    where old.scope = 'personal' and (source_id = old.sync_id or target_id = old.sync_id);
    delete from sync_mutations
    where entity = 'version' and entity_key >= old.sync_id || '/' and entity_key < old.sync_id || '0';
    delete from sync_withdrawn where sync_id = old.sync_id;
    delete from sync_renamed where entity = 'observation' and entity_key = old.sync_id;
end;
