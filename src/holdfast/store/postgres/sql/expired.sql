-- expired: processing jobs whose lease has ended, by lease end and id; uses job_leased.
select @job_columns@
  from holdfast.job
 where state = 'processing'
   and lease_until < %(now)s
   and (lease_until, id) > (%(after_instant)s, %(after_id)s::uuid)
 order by job.lease_until, job.id
 limit %(limit)s
