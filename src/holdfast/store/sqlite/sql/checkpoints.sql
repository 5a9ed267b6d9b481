-- checkpoints: what the finished stages of these jobs' current runs returned.
select checkpoint.job_id, checkpoint.stage, checkpoint.result
  from json_each(:ids) as wanted
  join holdfast_job as job on job.id = wanted.value
  join holdfast_checkpoint as checkpoint
    on checkpoint.job_id = job.id and checkpoint.run = job.run
 order by checkpoint.job_id, checkpoint.created_at
