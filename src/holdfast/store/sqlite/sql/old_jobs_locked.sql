-- old_jobs_locked: those of these jobs that are in one of the states; uses the key of the table.
select job.id
  from holdfast_job as job
 where job.id in (select value from json_each(:ids))
   and job.state in (select value from json_each(:states))
