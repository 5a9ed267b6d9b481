-- A lease exactly while processing, a result exactly when complete, an error exactly when failed.
-- Short expressions, because PostgreSQL reads them anew for every statement: all that SQLite checks
-- would cost a single write half as much again. `holdfast verify` looks for the rest.
-- Not checked against the rows there are, which would keep everybody from the table meanwhile.
alter table holdfast.job
    add constraint job_lease_only_while_processing check (
        (state = 'processing') = (lease_until is not null)
        and (holder is null) = (lease_until is null)
    ) not valid,
    add constraint job_result_only_when_complete check (
        (state = 'complete') = (result is not null)
    ) not valid,
    add constraint job_error_only_when_failed check (
        (state = 'failed') = (error is not null) and (error is null) = (error_class is null)
    ) not valid;
