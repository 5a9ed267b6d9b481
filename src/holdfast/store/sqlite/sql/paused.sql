-- paused: the queues from which nothing is claimed.
select name from holdfast_queue
