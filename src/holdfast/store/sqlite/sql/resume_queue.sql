-- resume_queue: let claims from a queue go on.
delete from holdfast_queue where name = :queue
