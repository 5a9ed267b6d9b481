-- tail_begun: attempts under way that began of late; uses job_leased.
select id::text, pipeline, queue, owner, stage, attempt, holder, attempt_at, revision
  from holdfast.job
 where state = 'processing'
   and attempt_at >= %(begun_since)s
 order by attempt_at, id
 limit %(limit)s
