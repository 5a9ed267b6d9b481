-- not_ended_well: those of these jobs that are neither complete nor cancelled; uses job_pkey.
select job.id::text
  from holdfast.job
 where job.id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
   and job.state not in ('complete', 'cancelled')
