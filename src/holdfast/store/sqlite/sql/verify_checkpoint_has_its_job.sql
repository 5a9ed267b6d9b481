-- verify_checkpoint_has_its_job: a checkpoint belongs to a job, and to a run that has begun.
select checkpoint.job_id
  from holdfast_checkpoint as checkpoint
  left join holdfast_job as job on job.id = checkpoint.job_id
 where job.id is null
    or checkpoint.run > job.run
    or checkpoint.run < 1
 limit 1000
