-- resume_queue: let claims from a queue go on.
delete from holdfast.queue where name = %(queue)s
