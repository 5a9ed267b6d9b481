-- unanswered: waiting jobs whose wait is over, by its end and id; uses holdfast_job_waiting.
select @job_columns@
  from holdfast_job as job
 where job.state = 'waiting'
   and job.run_at <= :now
   and (job.run_at, job.id) > (:after_instant, :after_id)
 order by job.run_at, job.id
 limit :limit
