-- erase_orphans: the next deliveries by id, with their job and whether that is gone; walks their key.
select delivery.id, delivery.job_id, delivery.state,
       not exists (select 1 from holdfast_job as job where job.id = delivery.job_id)
  from holdfast_delivery as delivery
 where delivery.id > :after
 order by delivery.id
 limit :limit
