-- deliveries_untold: jobs that were not looked at since a delivery ended; uses its index.
select distinct delivery.job_id
  from holdfast_delivery as delivery
 where delivery.job_told = 0
   and delivery.job_id > :after
   and delivery.state in ('sent', 'failed')
 order by delivery.job_id
 limit :limit
