-- due_claim: lease those of the given jobs that are due on one route; uses the primary key.
with due as (
    select job.id
      from holdfast.job
     where job.id = any (array(select value::uuid from json_array_elements_text(%(ids)s::json)))
       and job.state = 'queued'
       and job.queue = %(queue)s
       and job.pipeline = %(pipeline)s
       and job.stage = %(stage)s
       and job.run_at <= %(now)s
       and (job.deadline_at is null or job.deadline_at > %(now)s)
       and not exists (select from holdfast.queue where queue.name = job.queue)
       for update of job skip locked
)
update holdfast.job
   set state = 'processing',
       attempt = job.attempt + 1,
       token = job.token + 1,
       revision = job.revision + 1,
       holder = %(holder)s,
       lease_until = %(lease_until)s,
       started_at = coalesce(job.started_at, %(now)s),
       attempt_at = %(now)s,
       updated_at = %(now)s
  from due
 where job.id = any(array[due.id])
returning job.id::text, job.pipeline, job.plan, job.queue, job.priority, job.owner, job.key,
          job.version, job.rerun_of::text, job.payload, job.trace, job.created_at, job.stage,
          job.run, job.attempt, job.token, job.revision, job.run_at, job.deadline_at,
          job.started_at, job.snoozes, job.interruptions, job.retries
