-- due_first: when the first of the given jobs that are not due yet becomes due; uses the index of ids.
-- The plus keeps SQLite from job_due, by which it would read all that waits on the route.
select min(run_at)
  from holdfast_job
 where id in (select value from json_each(:ids))
   and state = 'queued'
   and +queue = :queue
   and pipeline = :pipeline
   and stage = :stage
   and run_at > :now
