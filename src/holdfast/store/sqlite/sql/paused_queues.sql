-- paused_queues: the queues from which nothing is claimed, and who paused them when.
select name, paused_at, paused_by from holdfast_queue order by name
