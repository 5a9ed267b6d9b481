-- bucket: how much of its rate an upstream has left.
select name, bucket_revision, bucket from holdfast_upstream
 where name = :name and bucket is not null
