-- deliveries: deliveries that match a filter, newest first; walks the key of id.
select @delivery_columns@
  from holdfast_delivery as delivery
 where delivery.id < coalesce(:before, '~')
   and (:states is null or instr(',' || :states || ',', ',' || delivery.state || ',') > 0)
   and (:provider is null or delivery.provider = :provider)
   and (:subject is null or delivery.subject = :subject)
   and (:recipient is null or delivery.recipient = :recipient)
   and (:version is null or delivery.version = :version)
   and (:job_id is null or delivery.job_id = :job_id)
   and (:error_class is null or delivery.error_class = :error_class)
   and (:created_since is null or delivery.created_at >= :created_since)
   and (:created_until is null or delivery.created_at < :created_until)
   and (:owner is null or exists (
         select 1 from holdfast_job as job
          where job.id = delivery.job_id and job.owner = :owner
       ))
 order by delivery.id desc
 limit :limit
