-- queued: how many jobs of a queue are queued, at most the limit; uses holdfast_job_due.
select count(*)
  from (
    select 1 from holdfast_job as job
     where job.state = 'queued' and job.queue = :queue
     limit :limit
  )
