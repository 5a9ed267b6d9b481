-- job_payloads: the payloads of these jobs; uses job_pkey.
select job.id::text, job.payload
  from holdfast.job
 where job.id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
