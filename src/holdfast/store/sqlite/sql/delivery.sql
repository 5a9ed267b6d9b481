-- delivery: one delivery.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.id = :id
   and (:owner is null or exists (
         select 1 from holdfast_job as job
          where job.id = delivery.job_id and job.owner = :owner
       ))
