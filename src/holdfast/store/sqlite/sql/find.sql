-- find: jobs that match a filter, newest first; walks the key of id, or a narrower index by id.
-- Conditions that nothing was given for are left out. What an index is limited to is said once
-- more as a constant: SQLite does not know it from a value.
select @job_columns@
  from holdfast_job as job
 where job.id < coalesce(:before, '~')
   and (:since_id is null or job.id >= :since_id)
   and (:states is null or job.state in (select value from json_each(:states)))
   and (:only_failed is null or job.state = 'failed')
   and (:only_cancelled is null or job.state = 'cancelled')
   and (:pipeline is null or job.pipeline = :pipeline)
   and (:stage is null or job.stage = :stage)
   and (:queue is null or job.queue = :queue)
   and (:owner is null or job.owner = :owner)
   and (:any_owner is null or job.owner <> '')
   and (:key is null or job.key = :key)
   and (:error_class is null or job.error_class = :error_class)
   and (:created_since is null or job.created_at >= :created_since)
   and (:created_until is null or job.created_at < :created_until)
 order by job.id desc
 limit :limit
