-- upstream_update: write an upstream, unless somebody else did since it was read.
update holdfast.upstream
   set revision = revision + 1, body = %(body)s, updated_at = %(updated_at)s
 where name = %(name)s and revision = %(revision)s
