-- Deliveries that failed are few among all that were sent: counting them must not read the rest.
create index holdfast_delivery_failed on holdfast_delivery (provider, id) where state = 'failed';
