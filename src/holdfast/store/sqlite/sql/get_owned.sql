-- get_owned: jobs by id, of one owner.
select @job_columns@
  from holdfast_job as job
 where job.id in (select value from json_each(:ids)) and job.owner = :owner
