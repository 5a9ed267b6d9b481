-- erase_deliveries: the deliveries of these jobs, with their states; uses holdfast_delivery_job.
select id, state from holdfast_delivery where job_id in (select value from json_each(:jobs))
