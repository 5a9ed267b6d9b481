-- bucket_update: write how much of its rate is left, unless somebody else did since it was read.
update holdfast.upstream
   set bucket_revision = bucket_revision + 1, bucket = %(bucket)s
 where name = %(name)s and bucket_revision = %(revision)s
