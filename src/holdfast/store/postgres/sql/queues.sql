-- queues: how each queue stands, active jobs only; uses job_due, job_leased and job_waiting.
-- The state is said once more as a constant, so that an index alone can tell all of it.
with active as (
    select queue, 'queued' as state, run_at, null::bigint as lease_until from holdfast.job where state = 'queued'
    union all
    select queue, 'processing' as state, run_at, lease_until from holdfast.job where state = 'processing'
    union all
    select queue, 'waiting' as state, run_at, null::bigint as lease_until from holdfast.job where state = 'waiting'
), counted as (
    select queue,
           count(*) filter (where state = 'queued' and run_at <= %(now)s) as due,
           count(*) filter (where state = 'queued' and run_at > %(now)s) as scheduled,
           count(*) filter (where state = 'processing' and lease_until >= %(now)s) as processing,
           count(*) filter (where state = 'waiting') as waiting,
           min(run_at) filter (where state = 'queued' and run_at <= %(now)s) as oldest_due_at,
           count(*) filter (where state = 'processing' and lease_until < %(now)s) as expired
      from active
     group by queue
)
select coalesce(counted.queue, paused.name) as queue,
       paused.paused_at,
       paused.paused_by,
       coalesce(counted.due, 0),
       coalesce(counted.scheduled, 0),
       coalesce(counted.processing, 0),
       coalesce(counted.waiting, 0),
       counted.oldest_due_at,
       paused.reason,
       coalesce(counted.expired, 0)
  from counted
  full join holdfast.queue as paused on paused.name = counted.queue
 order by 1
