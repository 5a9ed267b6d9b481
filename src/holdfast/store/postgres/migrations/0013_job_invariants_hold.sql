-- concurrently
-- The rows that were there before the constraints keep them too. Reads the table once, while
-- everybody goes on reading and writing it.
alter table holdfast.job
    validate constraint job_lease_only_while_processing,
    validate constraint job_result_only_when_complete,
    validate constraint job_error_only_when_failed;
