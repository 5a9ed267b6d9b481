-- pause_queue: stop claims from a queue; no row is touched when it is paused already.
insert into holdfast_queue (name, paused_at, paused_by, reason)
values (:queue, :now, :by, :reason)
on conflict do nothing
