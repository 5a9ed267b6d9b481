-- old_jobs_locked: those of these jobs that are in one of the states, locked; uses job_pkey.
-- What somebody else has locked is left out: it can go another time.
select job.id::text
  from holdfast.job
 where job.id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
   and job.state in (select value from jsonb_array_elements_text(%(states)s::jsonb))
   for update of job skip locked
