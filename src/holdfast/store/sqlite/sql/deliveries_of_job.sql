-- deliveries_of_job: what a job wants its recipients told, in the order it was asked.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.job_id = :job_id
 order by delivery.id
