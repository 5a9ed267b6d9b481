-- count_active: how many jobs in one state that is not an end match a filter, up to the limit.
-- Uses the index of that state.
select count(*)
  from (
    select 1
      from holdfast_job as active
     where true
       and (:only_queued is null or active.state = 'queued')
       and (:only_processing is null or active.state = 'processing')
       and (:only_waiting is null or active.state = 'waiting')
       and (:pipeline is null or active.pipeline = :pipeline)
       and (:stage is null or active.stage = :stage)
       and (:queue is null or active.queue = :queue)
       and (:owner is null or +active.owner = :owner)
       and (:created_since is null or active.created_at >= :created_since)
       and (:created_until is null or active.created_at < :created_until)
     limit :limit
  )
