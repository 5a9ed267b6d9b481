-- deliveries_in_doubt: those of these jobs that have a delivery in doubt; uses delivery_job.
select distinct delivery.job_id
  from holdfast.delivery
 where delivery.job_id in (select value from jsonb_array_elements_text(%(ids)s::jsonb))
   and delivery.state = 'unknown'
