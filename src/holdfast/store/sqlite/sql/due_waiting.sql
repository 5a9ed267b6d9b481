-- due_waiting: due jobs of the given lanes, each from its longest due on; uses holdfast_job_due.
-- A lane ends with the last job within the limit, which is looked up first. SQLite takes the tables
-- of a cross join in the order given, and so uses the index.
with lane as materialized (
    select given.key as place,
           given.value ->> 'queue' as queue,
           given.value ->> 'pipeline' as pipeline,
           given.value ->> 'stage' as stage,
           given.value ->> 'priority' as priority,
           given.value ->> 'route' as route
      from json_each(:lanes) as given
     where given.value ->> 'queue' not in (select name from holdfast_queue)
), bounded as materialized (
    select lane.*,
           (
            select last.rowid
              from (
                select job.rowid, job.run_at, job.id
                  from holdfast_job as job
                 where job.state = 'queued'
                   and job.queue = lane.queue
                   and job.pipeline = lane.pipeline
                   and job.stage = lane.stage
                   and job.priority = lane.priority
                   and job.run_at <= :now
                   and (job.deadline_at is null or job.deadline_at > :now)
                 order by job.run_at, job.id
                 limit :limit
              ) as last
             order by last.run_at desc, last.id desc
             limit 1
           ) as last_row
      from lane
)
select job.id, bounded.route, job.revision
  from bounded
 cross join holdfast_job as last on last.rowid = bounded.last_row
 cross join holdfast_job as job
 where job.state = 'queued'
   and job.queue = bounded.queue
   and job.pipeline = bounded.pipeline
   and job.stage = bounded.stage
   and job.priority = bounded.priority
   and job.run_at <= last.run_at
   and (job.run_at, job.id) <= (last.run_at, last.id)
   and (job.deadline_at is null or job.deadline_at > :now)
 order by bounded.place, job.run_at, job.id
