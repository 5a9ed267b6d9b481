-- buckets: every upstream with a rate that was called.
select name, bucket_revision, bucket from holdfast.upstream
 where bucket is not null
 order by name
