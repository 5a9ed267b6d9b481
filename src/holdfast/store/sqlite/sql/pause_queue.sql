-- pause_queue: stop claims from a queue; no row is touched when it is paused already.
insert into holdfast_queue (name, paused_at, paused_by) values (:queue, :now, :by)
on conflict do nothing
