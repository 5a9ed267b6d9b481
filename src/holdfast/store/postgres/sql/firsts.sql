-- firsts: those of these jobs that have reruns; uses job_rerun.
select job.id::text
  from holdfast.job
 where job.id in (select value::uuid from jsonb_array_elements_text(%(ids)s::jsonb))
   and exists (select from holdfast.job as rerun where rerun.rerun_of = job.id)
