-- deliveries_in_doubt: those of these jobs that have a delivery in doubt; uses holdfast_delivery_job.
select distinct delivery.job_id
  from holdfast_delivery as delivery
 where delivery.job_id in (select value from json_each(:ids))
   and delivery.state = 'unknown'
