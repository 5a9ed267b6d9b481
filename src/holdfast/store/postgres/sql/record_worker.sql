-- record_worker: store how a worker stands.
insert into holdfast.worker (id, host, pid, started_at, seen_at, queues, concurrency, state,
    stages)
values (%(id)s, %(host)s, %(pid)s, %(started_at)s, %(seen_at)s, %(queues)s, %(concurrency)s,
        %(state)s, %(stages)s)
on conflict (id) do update
   set seen_at = excluded.seen_at, state = excluded.state
