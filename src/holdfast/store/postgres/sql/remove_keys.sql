-- remove_keys: forget keys that were kept for long enough; uses kept_key_removed.
delete from holdfast.kept_key
 where ctid in (
        select ctid
          from holdfast.kept_key
         where removed_at <= %(removed)s
         order by removed_at
         limit %(limit)s
           for update skip locked
       )
