-- unanswered: waiting jobs whose wait is over, by its end and id; uses job_waiting.
select @job_columns@
  from holdfast.job
 where state = 'waiting'
   and run_at <= %(now)s
   and (run_at, id) > (%(after_instant)s, %(after_id)s::uuid)
 order by job.run_at, job.id
 limit %(limit)s
