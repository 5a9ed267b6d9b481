-- next_due: when the next queued job of the given lanes is due, from their heads on; uses job_due.
select min(candidate.run_at)
  from unnest(%(queues)s::text[], %(pipelines)s::text[], %(stages)s::text[],
              %(priorities)s::smallint[], %(heads_at)s::bigint[], %(heads_id)s::uuid[])
       as lane (queue, pipeline, stage, priority, head_at, head_id)
 cross join lateral (
    select job.run_at
      from holdfast.job
     where job.state = 'queued'
       and job.queue = lane.queue
       and job.pipeline = lane.pipeline
       and job.stage = lane.stage
       and job.priority = lane.priority
       and (job.run_at, job.id) >= (lane.head_at, lane.head_id)
     order by job.run_at, job.id
     limit 1
 ) as candidate
 where not exists (select from holdfast.queue where queue.name = lane.queue)
