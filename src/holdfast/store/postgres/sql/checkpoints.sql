-- checkpoints: what the finished stages of these jobs' current runs returned.
select checkpoint.job_id::text, checkpoint.stage, checkpoint.result
  from holdfast.checkpoint
  join holdfast.job on job.id = checkpoint.job_id and job.run = checkpoint.run
 where checkpoint.job_id = any(%(ids)s::uuid[])
 order by checkpoint.job_id, checkpoint.created_at
