-- claim: lease due jobs of the given lanes, in the order given, longest due first; uses job_due.
-- Lanes are read one after the other, so that no more rows are locked than are taken, and each
-- from its head on: what lies before was claimed, and its dead entries need not be read again.
with lane as materialized (
    select lane.*
      from unnest(%(queues)s::text[], %(pipelines)s::text[], %(stages)s::text[],
                  %(priorities)s::smallint[], %(heads_at)s::bigint[], %(heads_id)s::uuid[])
           with ordinality as lane (queue, pipeline, stage, priority, head_at, head_id, position)
     where not exists (select from holdfast.queue where queue.name = lane.queue)
     order by lane.position
), due as (
    select candidate.id
      from lane
     cross join lateral (
        select job.id
          from holdfast.job
         where job.state = 'queued'
           and job.queue = lane.queue
           and job.pipeline = lane.pipeline
           and job.stage = lane.stage
           and job.priority = lane.priority
           and (job.run_at, job.id) >= (lane.head_at, lane.head_id)
           and job.run_at <= %(now)s
           and (job.deadline_at is null or job.deadline_at > %(now)s)
         order by job.run_at, job.id
         limit %(limit)s
           for update skip locked
     ) as candidate
     limit %(limit)s
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
