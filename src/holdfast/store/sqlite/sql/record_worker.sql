-- record_worker: store how a worker stands.
insert into holdfast_worker (id, host, pid, started_at, seen_at, queues, concurrency, state)
values (:id, :host, :pid, :started_at, :seen_at, :queues, :concurrency, :state)
on conflict (id) do update
   set seen_at = excluded.seen_at, state = excluded.state
