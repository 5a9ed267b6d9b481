-- deliveries_of_job: what a job wants its recipients told, in the order it was asked.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.job_id = :job_id
   and (:owner is null or exists (
         select 1 from holdfast_job as job
          where job.id = delivery.job_id and job.owner = :owner
       ))
 order by delivery.id
