-- count_found: how many jobs match a filter, at most the limit; walks what `find` walks.
-- The order, which does not matter, is that of the jobs that a list of them shows first.
select count(*)
  from (
    select 1
      from holdfast_job as job
     where job.id < '~'
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
  )
