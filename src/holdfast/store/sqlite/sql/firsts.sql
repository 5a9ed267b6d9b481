-- firsts: those of these jobs that have reruns; uses holdfast_job_rerun.
select job.id
  from holdfast_job as job
 where job.id in (select value from json_each(:ids))
   and exists (select 1 from holdfast_job as rerun where rerun.rerun_of = job.id)
