-- pause_queue: stop claims from a queue; no row is touched when it is paused already.
insert into holdfast.queue (name, paused_at, paused_by, reason)
values (%(queue)s, %(now)s, %(by)s, %(reason)s)
on conflict do nothing
