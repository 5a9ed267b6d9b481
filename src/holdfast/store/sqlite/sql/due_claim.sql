-- due_claim: lease those of the given jobs that are due on one route; uses the index of ids.
-- The plus keeps SQLite from job_due, by which it would read all that waits on the route.
update holdfast_job
   set state = 'processing',
       attempt = attempt + 1,
       token = token + 1,
       revision = revision + 1,
       holder = :holder,
       lease_until = :lease_until,
       started_at = coalesce(started_at, :now),
       attempt_at = :now,
       updated_at = :now
 where id in (select value from json_each(:ids))
   and state = 'queued'
   and +queue = :queue
   and pipeline = :pipeline
   and stage = :stage
   and run_at <= :now
   and (deadline_at is null or deadline_at > :now)
   and not exists (select 1 from holdfast_queue where name = :queue)
returning id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, trace,
          created_at, stage, run, attempt, token, revision, run_at, deadline_at, started_at,
          snoozes, interruptions, retries
