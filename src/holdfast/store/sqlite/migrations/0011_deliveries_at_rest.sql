-- A job is looked at also when one of its deliveries has become unknown: it does not wait for ever.
create index holdfast_delivery_at_rest on holdfast_delivery (job_id)
    where job_told = 0 and job_id is not null and state in ('sent', 'failed', 'unknown');

drop index holdfast_delivery_untold;
