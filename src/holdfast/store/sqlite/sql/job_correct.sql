-- job_correct: give a failed job another payload, unless it has moved since; uses the key of the table.
update holdfast_job
   set payload = :payload
 where id = :id and state = 'failed' and revision = :job_revision
