-- tail_begun: attempts under way that began of late; uses holdfast_job_leased.
select id, pipeline, queue, owner, stage, attempt, holder, attempt_at, revision
  from holdfast_job
 where state = 'processing'
   and attempt_at >= :begun_since
 order by attempt_at, id
 limit :limit
