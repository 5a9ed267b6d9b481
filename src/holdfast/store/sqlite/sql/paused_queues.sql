-- paused_queues: the queues from which nothing is claimed, and who paused them when and why.
select name, paused_at, paused_by, reason from holdfast_queue order by name
