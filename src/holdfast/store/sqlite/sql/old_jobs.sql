-- old_jobs: the next jobs by id, with what says whether they may go; walks the key of the table.
select job.id, job.state, job.finished_at,
       exists (select 1 from holdfast_dead_letter as letter where letter.id = job.id),
       exists (select 1 from holdfast_job as rerun where rerun.rerun_of = job.id)
  from holdfast_job as job
 where job.id > :after and job.id < :below
 order by job.id
 limit :limit
