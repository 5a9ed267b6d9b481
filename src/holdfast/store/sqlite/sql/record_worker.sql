-- record_worker: store how a worker stands.
insert into holdfast_worker (id, host, pid, started_at, seen_at, queues, concurrency, state,
    stages)
values (:id, :host, :pid, :started_at, :seen_at, :queues, :concurrency, :state, :stages)
on conflict (id) do update
   set seen_at = excluded.seen_at, state = excluded.state
