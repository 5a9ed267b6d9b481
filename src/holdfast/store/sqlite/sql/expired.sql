-- expired: processing jobs whose lease has ended, by lease end and id; uses holdfast_job_leased.
select @job_columns@
  from holdfast_job as job
 where job.state = 'processing'
   and job.lease_until < :now
   and (job.lease_until, job.id) > (:after_instant, :after_id)
 order by job.lease_until, job.id
 limit :limit
