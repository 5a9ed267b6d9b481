-- bucket: how much of its rate an upstream has left.
select name, bucket_revision, bucket from holdfast.upstream
 where name = %(name)s and bucket is not null
