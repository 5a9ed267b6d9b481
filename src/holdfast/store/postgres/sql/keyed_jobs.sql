-- keyed_jobs: those of these jobs that have a key, and their plans; uses job_pkey.
select job.id::text, job.pipeline, job.plan
  from holdfast.job
 where job.id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
   and job.key is not null
