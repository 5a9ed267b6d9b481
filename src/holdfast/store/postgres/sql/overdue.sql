-- overdue: active jobs whose deadline has passed, by deadline and id; uses job_deadline.
select @job_columns@
  from holdfast.job
 where state in ('queued', 'processing', 'waiting')
   and deadline_at is not null
   and deadline_at < %(now)s
   and (deadline_at, id) > (%(after_instant)s, %(after_id)s::uuid)
 order by job.deadline_at, job.id
 limit %(limit)s
