-- due_first: when the first of the given jobs that are not due yet becomes due; uses the primary key.
select min(job.run_at)
  from holdfast.job
 where job.id = any (array(select value::uuid from json_array_elements_text(%(ids)s::json)))
   and job.state = 'queued'
   and job.queue = %(queue)s
   and job.pipeline = %(pipeline)s
   and job.stage = %(stage)s
   and job.run_at > %(now)s
