-- queued: how many jobs of a queue are queued, at most the limit; uses job_due.
-- The order, which does not matter, is the index's, so that no plan reads what is finished.
select count(*)
  from (
    select from holdfast.job
     where job.state = 'queued' and job.queue = %(queue)s
     order by job.pipeline, job.stage, job.priority, job.run_at, job.id
     limit %(limit)s
  ) as some_of_them
