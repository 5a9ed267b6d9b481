-- verify_result_only_when_complete: a job has a result exactly when it is complete.
select job.id
  from holdfast_job as job
 where (job.state = 'complete') <> (job.result is not null)
 limit 1000
