-- erase_deliveries: the deliveries of these jobs, with their states; uses delivery_job.
select id, state
  from holdfast.delivery
 where job_id in (select value from jsonb_array_elements_text(%(jobs)s::jsonb))
