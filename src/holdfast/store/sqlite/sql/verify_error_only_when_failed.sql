-- verify_error_only_when_failed: a job has an error and its class exactly when it has failed.
select job.id
  from holdfast_job as job
 where (job.state = 'failed') <> (job.error is not null)
    or (job.state = 'failed') <> (job.error_class is not null)
 limit 1000
