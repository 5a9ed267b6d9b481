-- old_deliveries: the next deliveries by id, with what says whether they may go; walks their key.
select delivery.id, delivery.revision, delivery.state, delivery.updated_at,
       exists (select 1 from holdfast_job as job where job.id = delivery.job_id)
  from holdfast_delivery as delivery
 where delivery.id > :after and delivery.id < :below
 order by delivery.id
 limit :limit
