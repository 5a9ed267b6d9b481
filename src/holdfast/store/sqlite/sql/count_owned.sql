-- count_owned: how many jobs of an owner that have not ended match a filter, up to the limit.
-- Uses holdfast_job_owner_active, whose condition is repeated here.
select count(*)
  from (
    select 1
      from holdfast_job as active
     where active.owner = :owner
       and active.owner <> ''
       and active.state in ('queued', 'processing', 'waiting')
       and active.state in (select value from json_each(:states))
       and (:pipeline is null or active.pipeline = :pipeline)
       and (:stage is null or active.stage = :stage)
       and (:queue is null or active.queue = :queue)
       and (:created_since is null or active.created_at >= :created_since)
       and (:created_until is null or active.created_at < :created_until)
     limit :limit
  )
