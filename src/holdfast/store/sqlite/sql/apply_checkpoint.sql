-- apply_checkpoint: keep the result of the stage that an applied decision has finished.
insert into holdfast_checkpoint (job_id, run, stage, result, created_at) values (?, ?, ?, ?, ?)
