-- deliveries_untold: jobs not looked at since a delivery came to rest; uses its index.
select distinct delivery.job_id
  from holdfast_delivery as delivery
 where delivery.job_told = 0
   and delivery.job_id > :after
   and delivery.state in ('sent', 'failed', 'unknown')
 order by delivery.job_id
 limit :limit
