-- next_due: when the next queued job of the given routes is due; uses job_due.
select min(candidate.run_at)
  from unnest(%(queues)s::text[], %(pipelines)s::text[], %(stages)s::text[])
       as route (queue, pipeline, stage)
 cross join unnest('{0,1,2,3}'::smallint[]) as level (priority)
 cross join lateral (
    select job.run_at
      from holdfast.job
     where job.state = 'queued'
       and job.queue = route.queue
       and job.pipeline = route.pipeline
       and job.stage = route.stage
       and job.priority = level.priority
     order by job.run_at
     limit 1
 ) as candidate
 where not exists (select from holdfast.queue where queue.name = route.queue)
