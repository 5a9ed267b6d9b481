-- erase_keys: forget some of an owner's keys; uses the key of the table.
delete from holdfast_kept_key
 where (owner, pipeline, key, version) in (
        select owner, pipeline, key, version from holdfast_kept_key where owner = :owner limit :limit
       )
