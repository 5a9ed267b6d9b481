-- plans_in_use: the plans of the next jobs by id; walks job_pkey.
select job.id::text, job.pipeline, job.plan
  from holdfast.job
 where job.id > %(after)s::uuid and job.id < %(below)s::uuid
 order by job.id
 limit %(limit)s
