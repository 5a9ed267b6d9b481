-- old_audit: the first entries of the record of actions; walks its key.
select entry.id, entry.at
  from holdfast_audit as entry
 where entry.id > :after
 order by entry.id
 limit :limit
