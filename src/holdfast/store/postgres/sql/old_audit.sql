-- old_audit: the first entries of the record of actions; walks its key.
select entry.id, entry.at
  from holdfast.audit as entry
 where entry.id > %(after)s
 order by entry.id
 limit %(limit)s
