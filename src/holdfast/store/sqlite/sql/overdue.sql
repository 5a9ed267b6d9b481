-- overdue: active jobs whose deadline has passed, by deadline and id; uses holdfast_job_deadline.
select @job_columns@
  from holdfast_job as job
 where job.state in ('queued', 'processing', 'waiting')
   and job.deadline_at is not null
   and job.deadline_at < :now
   and (job.deadline_at, job.id) > (:after_instant, :after_id)
 order by job.deadline_at, job.id
 limit :limit
