-- verify_late_result_only_after_timeout: only a job that failed by its deadline has a late result.
select job.id
  from holdfast_job as job
 where job.late_result is not null
   and (job.state <> 'failed' or job.error_class <> 'TIMEOUT')
 limit 1000
