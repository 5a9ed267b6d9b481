-- deliveries_untold: jobs not looked at since a delivery came to rest; uses delivery_at_rest.
select distinct delivery.job_id
  from holdfast.delivery
 where delivery.job_told = 0
   and delivery.job_id > %(after)s
   and delivery.state in ('sent', 'failed', 'unknown')
 order by delivery.job_id
 limit %(limit)s
