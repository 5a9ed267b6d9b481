-- claim: lease due jobs of one route and priority, longest due first; uses holdfast_job_due.
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
 where rowid in (
    select job.rowid
      from holdfast_job as job
     where job.state = 'queued'
       and job.queue = :queue
       and job.pipeline = :pipeline
       and job.stage = :stage
       and job.priority = :priority
       and job.run_at <= :now
       and (job.deadline_at is null or job.deadline_at > :now)
     order by job.run_at, job.id
     limit :limit
 )
returning id, pipeline, plan, queue, priority, owner, key, version, rerun_of, payload, trace,
          created_at, stage, run, attempt, token, revision, run_at, deadline_at, started_at,
          snoozes, interruptions, retries
