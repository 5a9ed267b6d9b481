-- verify_state_is_known: every job is queued, processing, waiting, complete, failed or cancelled.
select job.id
  from holdfast_job as job
 where job.state not in ('queued', 'processing', 'waiting', 'complete', 'failed', 'cancelled')
 limit 1000
