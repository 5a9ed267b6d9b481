-- concurrently
-- A job is looked at also when one of its deliveries has become unknown: it does not wait for ever.

-- One that was broken off is of no use, and in the way.
drop index concurrently if exists holdfast.delivery_at_rest;

create index concurrently delivery_at_rest on holdfast.delivery (job_id)
    where job_told = 0 and job_id is not null and state in ('sent', 'failed', 'unknown');

drop index concurrently if exists holdfast.delivery_untold;
