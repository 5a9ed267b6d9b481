-- erase_keys: forget some of an owner's keys; uses the key of the table.
delete from holdfast.kept_key
 where ctid in (
        select ctid from holdfast.kept_key where owner = %(owner)s limit %(limit)s for update
       )
