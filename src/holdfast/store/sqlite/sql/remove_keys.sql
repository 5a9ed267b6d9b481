-- remove_keys: forget keys that were kept for long enough; uses holdfast_kept_key_removed.
delete from holdfast_kept_key
 where (owner, pipeline, key, version) in (
        select owner, pipeline, key, version
          from holdfast_kept_key
         where removed_at <= :removed
         order by removed_at
         limit :limit
       )
