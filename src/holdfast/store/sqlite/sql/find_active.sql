-- find_active: jobs in one state that is not an end, newest first; uses the index of that state.
-- Those that ended may be very many, and lie above: the key of id would lead through them all.
select @job_columns@
  from holdfast_job as job
 where job.id in (
    select active.id
      from holdfast_job as active
     where +active.id < coalesce(:before, '~')
       and (:only_queued is null or active.state = 'queued')
       and (:only_processing is null or active.state = 'processing')
       and (:only_waiting is null or active.state = 'waiting')
       and (:pipeline is null or active.pipeline = :pipeline)
       and (:stage is null or active.stage = :stage)
       and (:queue is null or active.queue = :queue)
       and (:owner is null or +active.owner = :owner)
       and (:created_since is null or active.created_at >= :created_since)
       and (:created_until is null or active.created_at < :created_until)
     order by +active.id desc
     limit :limit
   )
 order by job.id desc
