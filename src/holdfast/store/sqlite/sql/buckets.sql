-- buckets: every upstream with a rate that was called.
select name, bucket_revision, bucket from holdfast_upstream
 where bucket is not null
 order by name
