-- next_due: when the next queued job of one route and priority is due; uses holdfast_job_due.
select job.run_at
  from holdfast_job as job
 where job.state = 'queued'
   and job.queue = :queue
   and job.pipeline = :pipeline
   and job.stage = :stage
   and job.priority = :priority
 order by job.run_at
 limit 1
