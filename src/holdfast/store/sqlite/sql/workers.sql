-- workers: the workers on record, the latest seen first.
select id, host, pid, started_at, seen_at, queues, concurrency, state,
       drain_asked_at, drain_asked_by, stages
  from holdfast_worker
 order by seen_at desc, id
