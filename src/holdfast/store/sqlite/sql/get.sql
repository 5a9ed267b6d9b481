-- get: jobs by id.
select @job_columns@
  from holdfast_job as job
 where job.id in (select value from json_each(:ids))
