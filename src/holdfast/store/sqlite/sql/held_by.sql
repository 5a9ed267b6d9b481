-- held_by: the jobs leased to one worker; uses holdfast_job_leased.
select @job_columns@
  from holdfast_job as job
 where job.state = 'processing' and job.holder = :holder
