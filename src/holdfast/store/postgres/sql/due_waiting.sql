-- due_waiting: due jobs of the given lanes, each from its longest due on; uses job_due.
with lane as materialized (
    select *
      from rows from (
            json_to_recordset(%(lanes)s::json)
            as (queue text, pipeline text, stage text, priority smallint, route int)
           ) with ordinality as given (queue, pipeline, stage, priority, route, place)
     where not exists (select from holdfast.queue where queue.name = given.queue)
)
select candidate.id::text, lane.route, candidate.revision
  from lane
 cross join lateral (
    select job.id, job.revision, job.run_at
      from holdfast.job
     where job.state = 'queued'
       and job.queue = lane.queue
       and job.pipeline = lane.pipeline
       and job.stage = lane.stage
       and job.priority = lane.priority
       and job.run_at <= %(now)s
       and (job.deadline_at is null or job.deadline_at > %(now)s)
     order by job.run_at, job.id
     limit %(limit)s
 ) as candidate
 order by lane.place, candidate.run_at, candidate.id
