-- concurrently
-- Deliveries that failed are few among all that were sent: counting them must not read the rest.

-- One that was broken off is of no use, and in the way.
drop index concurrently if exists holdfast.delivery_failed;

create index concurrently delivery_failed on holdfast.delivery (provider, id)
    where state = 'failed';
