-- queues: how each queue stands, active jobs only; uses the indexes of due, leased and waiting.
-- The state is said once more as a constant, so that an index alone can tell all of it.
with active as (
    select queue, 'queued' as state, run_at, null as lease_until from holdfast_job where state = 'queued'
    union all
    select queue, 'processing' as state, run_at, lease_until from holdfast_job where state = 'processing'
    union all
    select queue, 'waiting' as state, run_at, null as lease_until from holdfast_job where state = 'waiting'
), counted as (
    select queue,
           count(*) filter (where state = 'queued' and run_at <= :now) as due,
           count(*) filter (where state = 'queued' and run_at > :now) as scheduled,
           count(*) filter (where state = 'processing' and lease_until >= :now) as processing,
           count(*) filter (where state = 'waiting') as waiting,
           min(run_at) filter (where state = 'queued' and run_at <= :now) as oldest_due_at,
           count(*) filter (where state = 'processing' and lease_until < :now) as expired
      from active
     group by queue
), named as (
    select queue from counted union select name from holdfast_queue
)
select named.queue,
       paused.paused_at,
       paused.paused_by,
       coalesce(counted.due, 0),
       coalesce(counted.scheduled, 0),
       coalesce(counted.processing, 0),
       coalesce(counted.waiting, 0),
       counted.oldest_due_at,
       paused.reason,
       coalesce(counted.expired, 0)
  from named
  left join counted on counted.queue = named.queue
  left join holdfast_queue as paused on paused.name = named.queue
 order by named.queue
