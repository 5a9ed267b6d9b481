-- plans_in_use: the plans of the next jobs by id; walks the key of the table.
select job.id, job.pipeline, job.plan
  from holdfast_job as job
 where job.id > :after and job.id < :below
 order by job.id
 limit :limit
