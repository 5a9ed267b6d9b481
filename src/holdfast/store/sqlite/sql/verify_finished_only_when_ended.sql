-- verify_finished_only_when_ended: a job has an instant of its end exactly when it has ended.
select job.id
  from holdfast_job as job
 where (job.state in ('complete', 'failed', 'cancelled')) <> (job.finished_at is not null)
 limit 1000
