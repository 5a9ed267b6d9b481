-- find: jobs that match a filter, newest first; walks the key of id.
select @job_columns@
  from holdfast_job as job
 where job.id < coalesce(:before, '~')
   and (:states is null or job.state in (select value from json_each(:states)))
   and (:pipeline is null or job.pipeline = :pipeline)
   and (:stage is null or job.stage = :stage)
   and (:queue is null or job.queue = :queue)
   and (:owner is null or job.owner = :owner)
   and (:key is null or job.key = :key)
   and (:error_class is null or job.error_class = :error_class)
   and (:created_since is null or job.created_at >= :created_since)
   and (:created_until is null or job.created_at < :created_until)
 order by job.id desc
 limit :limit
